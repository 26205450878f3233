//! What a sent history adds to the effective history of a conversation. Pure.
//!
//! The client sends its whole history. The longest common beginning of both is shared. If the conversation continues differently,
//! it is rewound to the last shared event. What the client sends after it is new. Nothing is deleted: a rewind hides.

use std::collections::{BTreeSet, HashMap};

use domain::{CallId, Fact, Version};

use super::client_headers::is_instruction;
use super::comparable::Comparable;

/// The version of the first event, which creates the conversation.
const CREATION: Version = Version(1);

/// A comparable event of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredEvent {
    pub(super) version: Version,
    pub(super) content: Comparable,
}

/// What to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    /// The version to which the conversation is rewound first; `None`: it is not.
    pub(super) rewind: Option<Version>,
    /// The indices of the sent events that are new, in order.
    pub(super) new: Vec<usize>,
}

impl Plan {
    /// Whether the whole conversation would be hidden: nothing is shared.
    pub(super) fn hides_all(&self) -> bool {
        self.rewind == Some(CREATION)
    }
}

/// A sent event that is compared, with its index.
type Sent = (usize, Comparable);

/// The plan for a history that begins as the conversation does. `stored` are its first events, at least one more than were sent if
/// it has more; `open` are its open calls.
pub(super) fn plan(sent: &[Fact], stored: &[StoredEvent], open: &BTreeSet<CallId>) -> Plan {
    let compared = compared(sent);
    let pairs = compared.iter().zip(stored);
    let equal = pairs.take_while(|((_, sent), stored)| *sent == stored.content);
    let common = equal.count();
    if common == stored.len() {
        return Plan { rewind: None, new: after(sent, &compared, common) };
    }
    let shared = before_answered_calls(&compared, common, open);
    let last = shared.checked_sub(1).and_then(|last| stored.get(last));
    Plan { rewind: Some(last.map_or(CREATION, |last| last.version)), new: after(sent, &compared, shared) }
}

/// The plan for a history that begins later than the conversation does: a client has dropped its oldest messages. `newest` are the
/// conversation's newest events, oldest first; `None`: the history does not begin with its end.
pub(super) fn plan_of_end(sent: &[Fact], newest: &[StoredEvent]) -> Option<Plan> {
    let compared = compared(sent);
    let mut numbers = HashMap::new();
    let sent_numbers: Vec<usize> = numbered(&mut numbers, compared.iter().map(|(_, sent)| sent));
    let newest = numbered(&mut numbers, newest.iter().map(|stored| &stored.content));
    let longest = sent_numbers.len().min(newest.len());
    let is_shared = |length: &usize| {
        let end = newest.get(newest.len() - length..);
        end.is_some() && end == sent_numbers.get(..*length)
    };
    let shared = (1..=longest).rev().find(is_shared)?;
    Some(Plan { rewind: None, new: after(sent, &compared, shared) })
}

fn numbered<'c>(
    numbers: &mut HashMap<&'c Comparable, usize>,
    contents: impl Iterator<Item = &'c Comparable>,
) -> Vec<usize> {
    let number = |content| {
        let next = numbers.len();
        *numbers.entry(content).or_insert(next)
    };
    contents.map(number).collect()
}

fn compared(sent: &[Fact]) -> Vec<Sent> {
    let facts = sent.iter().enumerate();
    facts.filter_map(|(index, fact)| Some((index, Comparable::of(fact)?))).collect()
}

/// The indices of the sent events after the first `shared` compared ones. Instructions are not recorded, and neither are answers
/// without content, unless they call tools.
fn after(sent: &[Fact], compared: &[Sent], shared: usize) -> Vec<usize> {
    let last = shared.checked_sub(1).and_then(|last| compared.get(last));
    let first = last.map_or(0, |(index, _)| index + 1);
    let is_new = |index: &usize| {
        let Some(fact) = sent.get(*index) else {
            return false;
        };
        let is_call = matches!(sent.get(index + 1), Some(Fact::ToolCalled(_)));
        !is_instruction(fact) && (is_call || Comparable::of(fact).is_some())
    };
    (first..sent.len()).filter(is_new).collect()
}

/// How many of the first `common` events stay shared after a rewind. A result can only follow an open call, and a rewind does not
/// open answered calls again: a turn with such a call is recorded again.
fn before_answered_calls(compared: &[Sent], common: usize, open: &BTreeSet<CallId>) -> usize {
    let shared = compared.get(..common).unwrap_or_default();
    let results: BTreeSet<&CallId> = shared
        .iter()
        .filter_map(|(_, sent)| match sent {
            Comparable::Result(call, _) => Some(call),
            Comparable::User { .. } | Comparable::Answer(_) | Comparable::Call(..) => None,
        })
        .collect();
    let is_answered_later = |(_, sent): &Sent| match sent {
        Comparable::Call(call, ..) => !results.contains(call) && !open.contains(call),
        Comparable::User { .. } | Comparable::Answer(_) | Comparable::Result(..) => false,
    };
    let Some(first) = shared.iter().position(is_answered_later) else {
        return common;
    };
    // The calls before it and the text are of the same turn.
    let turn = shared.get(..first).unwrap_or_default().iter().rev();
    let is_of_turn = |sent: &&Sent| matches!(sent.1, Comparable::Answer(_) | Comparable::Call(..));
    first - turn.take_while(is_of_turn).count()
}

#[cfg(test)]
mod tests;
