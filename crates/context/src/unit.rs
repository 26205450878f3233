//! Atomic units: what is kept or left out whole.

use domain::event::{MessageAppended, Role, ToolCalled, ToolReturned};
use domain::{CallId, EventTokens, Version};

/// A turn with the results of all its calls: kept or left out whole (the head of the provider rules).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// The version of its first event: its place among the units.
    pub version: Version,
    /// What is said. None when the assistant only calls tools.
    pub message: Option<MessageAppended>,
    /// What the message weighs; nothing without one.
    pub tokens: EventTokens,
    /// The calls of the turn, in order; only an assistant's turn has any.
    pub calls: Vec<Call>,
}

/// A call, with its result where there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The version of the event that made it.
    pub version: Version,
    /// The call.
    pub called: ToolCalled,
    /// What it weighs.
    pub tokens: EventTokens,
    /// Its result; none while it waits.
    pub result: Option<CallResult>,
}

/// A call's result, wherever in the conversation it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallResult {
    /// The version of the event that brought it.
    pub version: Version,
    /// The result.
    pub returned: ToolReturned,
    /// What it weighs.
    pub tokens: EventTokens,
}

impl Unit {
    /// Who speaks.
    #[must_use]
    pub fn role(&self) -> Role {
        self.message
            .as_ref()
            .map_or(Role::Assistant, |message| message.role)
    }

    /// How many messages it is: its turn, and each result.
    #[must_use]
    pub fn messages(&self) -> usize {
        1 + results(&self.calls)
    }

    /// The tokens of all events before its first.
    #[must_use]
    pub fn begins_at(&self) -> u64 {
        let first = match (&self.message, self.calls.first()) {
            (None, Some(call)) => call.tokens,
            _ => self.tokens,
        };
        first.before()
    }

    /// The calls that still wait for a result, in order.
    pub fn pending(&self) -> impl Iterator<Item = &CallId> {
        let waiting = self.calls.iter().filter(|call| call.result.is_none());
        waiting.map(|call| &call.called.call_id)
    }

    /// The versions of its events, in no order.
    pub fn versions(&self) -> impl Iterator<Item = Version> + '_ {
        let message = self.message.as_ref().map(|_| self.version);
        message
            .into_iter()
            .chain(self.calls.iter().flat_map(Call::versions))
    }
}

impl Call {
    /// The places of the call and its result: versions, and the tokens of the conversation through each.
    pub(crate) fn places(&self) -> impl Iterator<Item = (Version, u64)> + use<> {
        let result = self.result.as_ref();
        let result = result.map(|result| (result.version, result.tokens.through));
        std::iter::once((self.version, self.tokens.through)).chain(result)
    }

    /// The versions of the call and its result.
    pub(crate) fn versions(&self) -> impl Iterator<Item = Version> + use<> {
        let result = self.result.as_ref().map(|result| result.version);
        std::iter::once(self.version).chain(result)
    }
}

/// How many of the calls have their result.
pub(crate) fn results(calls: &[Call]) -> usize {
    calls.iter().filter(|call| call.result.is_some()).count()
}
