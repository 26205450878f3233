//! Cuts the events into whole turns: as many as fit, the end of each message, and the end of the previous page.

use domain::{RecordedEvent, Version};
use runs::UiMessage;
use runs::ui_message::UiRole;

use super::{EventReader, MessagesPage, is_user_message};

/// The last turns that fit into the limit; at least one.
pub(super) fn cut(messages: Vec<UiMessage>, read: EventReader<'_>, limit: usize) -> MessagesPage {
    let is_turn = |message: &UiMessage| message.role == UiRole::User;
    let earliest = messages.len().saturating_sub(limit);
    let fitting = messages.iter().skip(earliest).position(is_turn);
    let from = match fitting {
        _ if earliest == 0 => 0,
        Some(skipped) => earliest + skipped,
        None => messages.iter().rposition(is_turn).unwrap_or_default(),
    };
    let has_first = read.has_first();
    let mut events = read.events;
    let starts: Vec<Option<Version>> = messages.iter().map(|message| start_of(message, &events)).collect();
    let first = starts.get(from).copied().flatten();
    let is_whole = from == 0 && has_first;
    let next_before = match first {
        _ if is_whole => None,
        Some(first) => Some(first),
        None => events.first().map(|event| event.version),
    };
    let last = events.last().map(|event| event.version).unwrap_or_default();
    let ends = ends(&starts, last).into_iter().skip(from).collect();
    if let Some(next) = next_before {
        events.retain(|event| event.version >= next);
    }
    MessagesPage { messages: messages.into_iter().skip(from).collect(), ends, events, next_before }
}

/// The version of a user's message; messages of the assistant have none.
fn start_of(message: &UiMessage, events: &[RecordedEvent]) -> Option<Version> {
    if message.role != UiRole::User {
        return None;
    }
    let mut users = events.iter().filter(|event| is_user_message(event));
    let its = users.find(|event| event.event.id.to_string() == message.id);
    its.map(|event| event.version)
}

/// A user's message is one event; a message of the assistant ends before the next user's message.
fn ends(starts: &[Option<Version>], last: Version) -> Vec<Version> {
    let mut next = last.next();
    let mut ends: Vec<Version> = starts
        .iter()
        .rev()
        .map(|start| {
            let end = start.unwrap_or(Version(next.0.saturating_sub(1)));
            next = start.unwrap_or(next);
            end
        })
        .collect();
    ends.reverse();
    ends
}
