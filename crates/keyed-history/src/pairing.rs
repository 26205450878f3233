//! Finds the caller's messages that are already stored.
//!
//! Messages have no reliable id: callers send only the new message, the new turn or the whole thread, and people repeat
//! themselves. So a message counts as stored only in these cases:
//!
//! 1. A stored message has the same role and the same `provider_response_id`.
//! 2. It directly precedes a pair in both lists, and both messages are equal.
//! 3. Of the remaining messages, the caller's list starts with the end of the stored list; the longest overlap is used.
//!
//! So each stored message has at most one pair. After the unpaired messages are appended in order, every message of the
//! caller has a pair.

use std::collections::HashMap;

use domain::event::{MessageAppended, Role};
use domain::{Label, Part};

/// Whether each current message has a stored pair. Both lists are oldest first. `stored` may be the end of a longer history
/// if it has at least as many messages as `current`; responses before it are not found.
#[must_use]
pub fn find_stored(stored: &[&MessageAppended], current: &[&MessageAppended]) -> Vec<bool> {
    let mut numbers = Numbers::default();
    let (stored_numbers, current_numbers) = (numbers.assign(stored), numbers.assign(current));
    let is_pair = |there: usize, here: usize| {
        let pair = stored_numbers.get(there).zip(current_numbers.get(here));
        pair.is_some_and(|(there, here)| there.is_pair_of(here))
    };
    let mut pairs = Pairs { stored: vec![false; stored.len()], current: vec![false; current.len()] };
    let responses = same_responses(stored, current);
    for (there, here) in &responses {
        pairs.claim(*there, *here);
    }
    for (there, here) in responses {
        pairs.claim_before(there, here, is_pair);
    }
    let (there, here) = (unclaimed(&pairs.stored), unclaimed(&pairs.current));
    let overlap = overlap(there.len(), here.len(), |at_there, at_here| {
        let pair = there.get(at_there).zip(here.get(at_here));
        pair.is_some_and(|(there, here)| is_pair(*there, *here))
    });
    for here in here.into_iter().take(overlap) {
        if let Some(claimed) = pairs.current.get_mut(here) {
            *claimed = true;
        }
    }
    pairs.current
}

/// A message by the number of its content, so that long messages are compared only once.
struct Numbered<'list> {
    number: usize,
    response: Option<&'list Label>,
}

impl Numbered<'_> {
    /// Messages of different responses are no pair, even with equal content.
    fn is_pair_of(&self, other: &Self) -> bool {
        let responses = self.response.zip(other.response);
        self.number == other.number && responses.is_none_or(|(one, other)| one == other)
    }
}

/// What is equal in equal messages.
#[derive(PartialEq, Eq, Hash)]
struct Content<'list> {
    role: Role,
    author: Option<&'list Label>,
    parts: &'list [Part],
}

/// The number of each content.
#[derive(Default)]
struct Numbers<'list>(HashMap<Content<'list>, usize>);

impl<'list> Numbers<'list> {
    fn assign(&mut self, messages: &[&'list MessageAppended]) -> Vec<Numbered<'list>> {
        let numbered = messages.iter().map(|message| {
            let next = self.0.len();
            let content =
                Content { role: message.role, author: message.author.as_ref(), parts: message.parts.as_slice() };
            Numbered { number: *self.0.entry(content).or_insert(next), response: message.provider_response_id.as_ref() }
        });
        numbered.collect()
    }
}

/// Whether each message has a pair.
struct Pairs {
    stored: Vec<bool>,
    current: Vec<bool>,
}

impl Pairs {
    /// Claims both; `false` if one of them is missing or claimed.
    fn claim(&mut self, there: usize, here: usize) -> bool {
        match (self.stored.get_mut(there), self.current.get_mut(here)) {
            (Some(there @ false), Some(here @ false)) => {
                (*there, *here) = (true, true);
                true
            }
            _ => false,
        }
    }

    /// Claims the equal messages that directly precede a pair in both lists.
    fn claim_before(&mut self, mut there: usize, mut here: usize, is_pair: impl Fn(usize, usize) -> bool) {
        while let Some(before) = there.checked_sub(1).zip(here.checked_sub(1)) {
            (there, here) = before;
            if !is_pair(there, here) || !self.claim(there, here) {
                return;
            }
        }
    }
}

/// The indices of messages of the same response, in the caller's order. If a response has several messages, they are paired
/// in order.
fn same_responses(stored: &[&MessageAppended], current: &[&MessageAppended]) -> Vec<(usize, usize)> {
    let indices: HashMap<_, usize> = responses(stored).collect();
    let pairs = responses(current).filter_map(|(response, here)| {
        let there = indices.get(&response)?;
        Some((*there, here))
    });
    pairs.collect()
}

/// A message of a response.
#[derive(PartialEq, Eq, Hash)]
struct MessageOfResponse<'list> {
    role: Role,
    response: &'list str,
    /// Its number among the messages of the response with this role.
    number: usize,
}

/// Each message with a response, and its index.
fn responses<'list>(messages: &'list [&MessageAppended]) -> impl Iterator<Item = (MessageOfResponse<'list>, usize)> {
    let mut counts: HashMap<(Role, &str), usize> = HashMap::new();
    messages.iter().enumerate().filter_map(move |(index, message)| {
        let response = message.provider_response_id.as_ref()?.as_str();
        let count = counts.entry((message.role, response)).or_default();
        let number = *count;
        *count += 1;
        Some((MessageOfResponse { role: message.role, response, number }, index))
    })
}

fn unclaimed(claimed: &[bool]) -> Vec<usize> {
    let claimed = claimed.iter().enumerate();
    claimed.filter(|(_, claimed)| !**claimed).map(|(index, _)| index).collect()
}

/// The length of the longest end of one list that is the start of the other.
fn overlap(there: usize, here: usize, is_pair: impl Fn(usize, usize) -> bool) -> usize {
    let longest = there.min(here);
    let mut lengths = (1..=longest).rev().filter(|length| {
        let from = there - length;
        (0..*length).all(|index| is_pair(from + index, index))
    });
    lengths.next().unwrap_or(0)
}
