//! One history of what is stored and what the caller has.
//!
//! A history is of turns: what users and assistants say. Instructions (messages of the roles system and developer) are the
//! caller's own at each call: they lead what the model reads, and are never new to the history.

use domain::event::{MessageAppended, Role};

use crate::pairing::stored_already;

/// Most messages that a caller may be given, itself at least 1 and at most [`MessagesMax::MOST`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessagesMax(usize);

impl MessagesMax {
    /// The most that may be asked for.
    pub const MOST: usize = 1_000;

    /// So many messages, brought within 1 and [`MessagesMax::MOST`].
    #[must_use]
    pub fn clamped(messages: usize) -> Self {
        Self(messages.clamp(1, Self::MOST))
    }

    /// How many.
    #[must_use]
    pub fn get(self) -> usize {
        self.0
    }
}

/// The end of the stored history, oldest first. `seen` may begin anywhere, if it has at least as many turns as the caller
/// has messages; it always may be the whole.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stored<'list> {
    /// What the caller's messages may go back to: all that is stored, or all that was when the caller last looked.
    pub seen: &'list [MessageAppended],
    /// What others recorded since, which the caller did not know of.
    pub since: &'list [MessageAppended],
}

/// One history of both.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Merged {
    /// The caller's instructions, the stored turns, and the caller's turns that are new; the last of the turns where there
    /// are too many, and of the instructions where these alone are.
    pub messages: Vec<MessageAppended>,
    /// Which of the caller's messages are new, by their places, in order: what is to be recorded. Trimmed ones too.
    pub new: Vec<usize>,
    /// How many messages were left out of `messages` for its bound.
    pub trimmed: usize,
}

/// Puts the stored turns and the caller's messages together, oldest first and none twice.
#[must_use]
pub fn merge(stored: Stored<'_>, current: &[MessageAppended], messages_max: MessagesMax) -> Merged {
    let new = new_turns(stored, current);
    let added = new.iter().filter_map(|place| current.get(*place));
    let turns: Vec<_> = turns(stored.seen)
        .chain(turns(stored.since))
        .chain(added)
        .collect();
    let instructions: Vec<_> = current.iter().filter(|message| !is_turn(message)).collect();
    let instructions_kept = last(&instructions, messages_max.0);
    let turns_kept = last(&turns, messages_max.0 - instructions_kept.len());
    let messages: Vec<_> = instructions_kept
        .iter()
        .chain(turns_kept)
        .copied()
        .cloned()
        .collect();
    Merged {
        trimmed: instructions.len() + turns.len() - messages.len(),
        messages,
        new,
    }
}

/// The places of the caller's turns that are not stored, in order.
#[must_use]
pub fn new_turns(stored: Stored<'_>, current: &[MessageAppended]) -> Vec<usize> {
    let places = current.iter().enumerate();
    let places = places.filter(|(_, message)| is_turn(message));
    let unseen = not_stored(stored.seen, places.collect());
    let new = not_stored(stored.since, unseen).into_iter();
    new.map(|(place, _)| place).collect()
}

fn not_stored<'list>(
    stored: &[MessageAppended],
    current: Vec<(usize, &'list MessageAppended)>,
) -> Vec<(usize, &'list MessageAppended)> {
    let stored: Vec<_> = turns(stored).collect();
    let messages: Vec<_> = current.iter().map(|(_, message)| *message).collect();
    let known = stored_already(&stored, &messages);
    let current = current.into_iter().zip(known);
    current
        .filter(|(_, known)| !known)
        .map(|(message, _)| message)
        .collect()
}

fn turns(messages: &[MessageAppended]) -> impl Iterator<Item = &MessageAppended> {
    messages.iter().filter(|message| is_turn(message))
}

fn is_turn(message: &MessageAppended) -> bool {
    match message.role {
        Role::User | Role::Assistant => true,
        Role::System | Role::Developer => false,
    }
}

fn last<T>(list: &[T], most: usize) -> &[T] {
    list.get(list.len().saturating_sub(most)..)
        .unwrap_or_default()
}
