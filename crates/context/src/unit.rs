//! Atomic units: included or omitted as a whole.

use domain::event::{MessageAppended, Role, ToolCalled, ToolReturned};
use domain::{CallId, EventTokens, Version};

/// A turn with the results of all its calls. It is included or omitted as a whole, because providers reject a call
/// without its result and a result without its call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// The version of its first event. Units are ordered by it.
    pub version: Version,
    /// The message. None when the assistant only calls tools.
    pub message: Option<MessageAppended>,
    /// The tokens of the message; zero without one.
    pub tokens: EventTokens,
    /// The calls of the turn, in order; only an assistant's turn has any.
    pub calls: Vec<Call>,
}

/// A call with its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The version of the event that made it.
    pub version: Version,
    /// The call.
    pub called: ToolCalled,
    /// Its tokens.
    pub tokens: EventTokens,
    /// Its result; none while it is pending.
    pub result: Option<CallResult>,
}

/// A call's result, at any later version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallResult {
    /// The version of its event.
    pub version: Version,
    /// The result.
    pub returned: ToolReturned,
    /// Its tokens.
    pub tokens: EventTokens,
}

impl Unit {
    /// The role of the speaker.
    #[must_use]
    pub fn role(&self) -> Role {
        self.message.as_ref().map_or(Role::Assistant, |message| message.role)
    }

    /// How many messages it counts as: its turn, and each result.
    #[must_use]
    pub fn messages(&self) -> usize {
        1 + results(&self.calls)
    }

    /// The tokens of all events before its first.
    #[must_use]
    pub fn tokens_before(&self) -> u64 {
        let first = match (&self.message, self.calls.first()) {
            (None, Some(call)) => call.tokens,
            _ => self.tokens,
        };
        first.before()
    }

    /// The calls without a result, in order.
    pub fn pending(&self) -> impl Iterator<Item = &CallId> {
        let waiting = self.calls.iter().filter(|call| call.result.is_none());
        waiting.map(|call| &call.called.call_id)
    }

    /// The versions of its events, in no order.
    pub fn versions(&self) -> impl Iterator<Item = Version> + '_ {
        let message = self.message.as_ref().map(|_| self.version);
        message.into_iter().chain(self.calls.iter().flat_map(Call::versions))
    }
}

impl Call {
    /// The versions of the call and its result, with the token count of the conversation through each.
    pub(crate) fn token_counts(&self) -> impl Iterator<Item = (Version, u64)> + use<> {
        let result = self.result.as_ref().map(|result| (result.version, result.tokens.through));
        std::iter::once((self.version, self.tokens.through)).chain(result)
    }

    /// The versions of the call and its result.
    pub(crate) fn versions(&self) -> impl Iterator<Item = Version> + use<> {
        let result = self.result.as_ref().map(|result| result.version);
        std::iter::once(self.version).chain(result)
    }
}

/// How many calls have a result.
pub(crate) fn results(calls: &[Call]) -> usize {
    calls.iter().filter(|call| call.result.is_some()).count()
}
