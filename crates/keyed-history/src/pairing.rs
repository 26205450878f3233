//! Which of the caller's messages are stored already.
//!
//! Nothing names a message for sure: callers send one message, the turn that is new, or all of their thread, and people
//! say the same thing twice. So a message counts as stored only where something speaks for it:
//!
//! 1. its response's id is stored (the same role and the same `provider_response_id` are the same message),
//! 2. it stands right before such a message in both lists, or before another one that was found so, and says the same,
//! 3. of what is left then, the caller's list begins with what the stored one ends with; the longest such overlap counts.
//!
//! What follows from it: each stored message stands for at most one of the caller's, and once the unpaired ones are
//! appended in their order, every message of the caller's has its pair.

use std::collections::HashMap;

use domain::event::{MessageAppended, Role};
use domain::{Label, Part};

/// For each current message, whether a stored one is the same. Both lists are oldest first. `stored` may be the end of a
/// longer history, if it has at least as many messages as `current`: no message of a response is looked for before it.
#[must_use]
pub fn stored_already(stored: &[&MessageAppended], current: &[&MessageAppended]) -> Vec<bool> {
    let mut numbers = Numbers::default();
    let (stored_said, current_said) = (numbers.said(stored), numbers.said(current));
    let is_pair = |there: usize, here: usize| {
        let said = stored_said.get(there).zip(current_said.get(here));
        said.is_some_and(|(there, here)| there.is_pair_of(here))
    };
    let mut pairs = Pairs {
        stored: vec![false; stored.len()],
        current: vec![false; current.len()],
    };
    let responses = same_responses(stored, current);
    for (there, here) in &responses {
        pairs.claim(*there, *here);
    }
    for (there, here) in responses {
        pairs.claim_before(there, here, is_pair);
    }
    let (there, here) = (unclaimed(&pairs.stored), unclaimed(&pairs.current));
    let overlap = overlap(there.len(), here.len(), |at_there, at_here| {
        let places = there.get(at_there).zip(here.get(at_here));
        places.is_some_and(|(there, here)| is_pair(*there, *here))
    });
    for here in here.into_iter().take(overlap) {
        if let Some(claimed) = pairs.current.get_mut(here) {
            *claimed = true;
        }
    }
    pairs.current
}

/// What somebody said, by a number instead of at length, so that long messages are not compared time and again.
struct Said<'list> {
    number: usize,
    response: Option<&'list Label>,
}

impl Said<'_> {
    /// Two messages of two responses are two, even where they say the same.
    fn is_pair_of(&self, other: &Self) -> bool {
        let responses = self.response.zip(other.response);
        self.number == other.number && responses.is_none_or(|(one, other)| one == other)
    }
}

/// The number of each speaker and what they said.
#[derive(Default)]
struct Numbers<'list>(HashMap<(Role, Option<&'list Label>, &'list [Part]), usize>);

impl<'list> Numbers<'list> {
    fn said(&mut self, messages: &[&'list MessageAppended]) -> Vec<Said<'list>> {
        let messages = messages.iter();
        let said = messages.map(|message| {
            let next = self.0.len();
            let what = (
                message.role,
                message.author.as_ref(),
                message.parts.as_slice(),
            );
            Said {
                number: *self.0.entry(what).or_insert(next),
                response: message.provider_response_id.as_ref(),
            }
        });
        said.collect()
    }
}

/// Which messages have a pair.
struct Pairs {
    stored: Vec<bool>,
    current: Vec<bool>,
}

impl Pairs {
    /// Claims both; `false` where one of them is claimed already, or not there.
    fn claim(&mut self, there: usize, here: usize) -> bool {
        match (self.stored.get_mut(there), self.current.get_mut(here)) {
            (Some(there @ false), Some(here @ false)) => {
                (*there, *here) = (true, true);
                true
            }
            _ => false,
        }
    }

    /// Claims what stands before a pair in both lists, as far back as it is the same.
    fn claim_before(
        &mut self,
        mut there: usize,
        mut here: usize,
        is_pair: impl Fn(usize, usize) -> bool,
    ) {
        while let Some(before) = there.checked_sub(1).zip(here.checked_sub(1)) {
            (there, here) = before;
            if !is_pair(there, here) || !self.claim(there, here) {
                return;
            }
        }
    }
}

/// The places of messages of the same response, by the order of the caller's. The first of several messages of one
/// response is the pair of the first, the second of the second.
fn same_responses(
    stored: &[&MessageAppended],
    current: &[&MessageAppended],
) -> Vec<(usize, usize)> {
    let places: HashMap<_, usize> = responses(stored).collect();
    let pairs = responses(current).filter_map(|(response, here)| {
        let there = places.get(&response)?;
        Some((*there, here))
    });
    pairs.collect()
}

/// Role, response and number in the response of each message that has one, with its place.
fn responses<'list>(
    messages: &'list [&MessageAppended],
) -> impl Iterator<Item = ((Role, &'list str, usize), usize)> {
    let mut seen: HashMap<(Role, &str), usize> = HashMap::new();
    let messages = messages.iter().enumerate();
    messages.filter_map(move |(place, message)| {
        let response = message.provider_response_id.as_ref()?.as_str();
        let count = seen.entry((message.role, response)).or_default();
        let number = *count;
        *count += 1;
        Some(((message.role, response, number), place))
    })
}

fn unclaimed(claimed: &[bool]) -> Vec<usize> {
    let claimed = claimed.iter().enumerate();
    claimed
        .filter(|(_, claimed)| !**claimed)
        .map(|(place, _)| place)
        .collect()
}

/// The length of the longest end of one list that another begins with.
fn overlap(there: usize, here: usize, is_pair: impl Fn(usize, usize) -> bool) -> usize {
    let longest = there.min(here);
    let lengths = (1..=longest).rev();
    let mut lengths = lengths.filter(|length| {
        let from = there - length;
        (0..*length).all(|place| is_pair(from + place, place))
    });
    lengths.next().unwrap_or(0)
}
