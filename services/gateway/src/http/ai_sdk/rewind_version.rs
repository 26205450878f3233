//! The version to which a chat is rewound when a page edits a message or regenerates an answer.

use domain::{RecordedEvent, Version};
use runs::ui_message::UiRole;
use runtime::http::HttpProblem;

use crate::http::message_pages::{MessagesPage, is_user_message, search};
use crate::http::turns::{problems, turn};
use conversations::open::OwnedChat;
use http_listener::state::HttpState;

/// The version of the user's message whose answer is regenerated. The request names this message, or its answer;
/// otherwise it is the last one. An answer that is not recorded yet is rewound when it is.
///
/// # Errors
/// 404 `MESSAGE_NOT_FOUND`; 409 `NOTHING_TO_ANSWER`.
pub(super) async fn for_regenerate(
    state: &HttpState,
    chat: &OwnedChat,
    message_id: Option<&str>,
) -> Result<Version, HttpProblem> {
    // The active run's answer is the last message; no message has its id before it is recorded.
    let active = chat.conversation.head.active_run.as_ref().map(|run| run.id.to_string());
    let message_id = message_id.filter(|id| active.as_deref() != Some(*id));
    let found = search(state, chat, |page| {
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
/// 404 `MESSAGE_NOT_FOUND`.
pub(super) async fn for_edit(state: &HttpState, chat: &OwnedChat, message_id: &str) -> Result<Version, HttpProblem> {
    let found = search(state, chat, |page| {
        let mut events = page.events.iter();
        let event = events.find(|event| is_user_message(event) && turn::has_id(event, message_id))?;
        Some(Version(event.version.0.saturating_sub(1)))
    });
    found.await?.ok_or_else(problems::no_such_message)
}
