//! Merges the stored history with the caller's messages.
//!
//! A history consists of turns: messages of users and assistants. Instructions (messages of the roles system and developer)
//! are the caller's own at each call: they come first for the model, and are never added to the history.

use domain::event::{MessageAppended, Role};

use crate::pairing::find_stored;

/// The most messages that a caller gets: 1 to [`MessagesMax::MOST`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessagesMax(usize);

impl MessagesMax {
    /// The upper bound.
    pub const MOST: usize = 1_000;

    /// The number, limited to 1 to [`MessagesMax::MOST`].
    #[must_use]
    pub fn clamped(messages: usize) -> Self {
        Self(messages.clamp(1, Self::MOST))
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> usize {
        self.0
    }
}

/// The end of the stored history, oldest first. `seen` may be the end of the history if it has at least as many turns as
/// the caller has messages.
#[derive(Debug, Clone, Copy, Default)]
pub struct StoredHistory<'list> {
    /// The messages that the caller may have: all stored ones, or those of the caller's last read.
    pub seen: &'list [MessageAppended],
    /// The messages that others recorded after the caller's last read.
    pub since: &'list [MessageAppended],
}

/// The merged history.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MergedHistory {
    /// The caller's instructions, the stored turns, and the caller's new turns. If there are too many, the oldest turns are
    /// left out first, then the oldest instructions.
    pub messages: Vec<MessageAppended>,
    /// The indices of the caller's new messages, in order, including trimmed ones: the messages to record.
    pub new: Vec<usize>,
    /// The number of messages that the bound removed from `messages`.
    pub trimmed: usize,
}

/// Merges the stored turns and the caller's messages, oldest first and without duplicates.
#[must_use]
pub fn merge(stored: StoredHistory<'_>, current: &[MessageAppended], messages_max: MessagesMax) -> MergedHistory {
    let new = new_turns(stored, current);
    let added = new.iter().filter_map(|index| current.get(*index));
    let turns: Vec<_> = turns(stored.seen).chain(turns(stored.since)).chain(added).collect();
    let instructions: Vec<_> = current.iter().filter(|message| !is_turn(message)).collect();
    let instructions_kept = last(&instructions, messages_max.0);
    let turns_kept = last(&turns, messages_max.0 - instructions_kept.len());
    let messages: Vec<_> = instructions_kept.iter().chain(turns_kept).copied().cloned().collect();
    MergedHistory { trimmed: instructions.len() + turns.len() - messages.len(), messages, new }
}

/// The indices of the caller's turns that are not stored, in order.
#[must_use]
pub fn new_turns(stored: StoredHistory<'_>, current: &[MessageAppended]) -> Vec<usize> {
    let turns = current.iter().enumerate().filter(|(_, message)| is_turn(message));
    let unseen = not_stored(stored.seen, turns.collect());
    let new = not_stored(stored.since, unseen).into_iter();
    new.map(|(index, _)| index).collect()
}

fn not_stored<'list>(
    stored: &[MessageAppended],
    current: Vec<(usize, &'list MessageAppended)>,
) -> Vec<(usize, &'list MessageAppended)> {
    let stored: Vec<_> = turns(stored).collect();
    let messages: Vec<_> = current.iter().map(|(_, message)| *message).collect();
    let known = find_stored(&stored, &messages);
    let current = current.into_iter().zip(known);
    current.filter(|(_, known)| !known).map(|(message, _)| message).collect()
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
    list.get(list.len().saturating_sub(most)..).unwrap_or_default()
}
