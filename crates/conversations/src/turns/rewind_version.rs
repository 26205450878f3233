//! The version to which a chat is rewound when a page edits a message or regenerates an answer.

use domain::{RecordedEvent, Version};
use runs::ui_message::UiRole;
use wire::status::Problem;

use super::{problems, turn};
use crate::Conversations;
use crate::message_pages::{MessagesPage, is_user_message, search};
use crate::open::OwnedChat;

/// The version of the user's message whose answer is regenerated. The request names this message, or its answer;
/// otherwise it is the last one. An answer that is not recorded yet is rewound when it is.
///
/// # Errors
/// `MESSAGE_NOT_FOUND`; `NOTHING_TO_ANSWER`.
pub async fn for_regenerate(
    conversations: &Conversations,
    chat: &OwnedChat,
    message_id: Option<&str>,
) -> Result<Version, Problem> {
    // The active run's answer is the last message; no message has its id before it is recorded.
    let active = chat.conversation.head.active_run.as_ref().map(|run| run.id.to_string());
    let message_id = message_id.filter(|id| active.as_deref() != Some(*id));
    let found = search(conversations, chat, |page| {
        let index = message_index(page, message_id)?;
        let mut until = page.messages.iter().take(index + 1);
        let user = until.rposition(|message| message.role == UiRole::User);
        Some(user.and_then(|user| page.ends.get(user)).copied())
    });
    match (found.await?, message_id) {
        (Some(Some(end)), _) => Ok(end),
        (None, Some(_)) => Err(problems::no_such_message()),
        (Some(None), _) | (None, None) => Err(problems::nothing_to_answer()),
    }
}

/// The index of the named message, or of the last.
fn message_index(page: &MessagesPage, message_id: Option<&str>) -> Option<usize> {
    let Some(id) = message_id else {
        return page.messages.len().checked_sub(1);
    };
    let is_users = |event: &&RecordedEvent| is_user_message(event) && turn::has_id(event, id);
    let event = page.events.iter().find(is_users);
    let event_id = event.map(|event| event.event.id.to_string());
    let mut messages = page.messages.iter();
    messages.position(|message| message.id == id || event_id.as_ref() == Some(&message.id))
}

/// The version before the message that a page edits.
///
/// # Errors
/// `MESSAGE_NOT_FOUND`.
pub async fn for_edit(conversations: &Conversations, chat: &OwnedChat, message_id: &str) -> Result<Version, Problem> {
    let found = search(conversations, chat, |page| {
        let mut events = page.events.iter();
        let event = events.find(|event| is_user_message(event) && turn::has_id(event, message_id))?;
        Some(Version(event.version.0.saturating_sub(1)))
    });
    found.await?.ok_or_else(problems::no_such_message)
}
