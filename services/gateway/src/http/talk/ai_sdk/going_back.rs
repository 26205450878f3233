//! From where a chat goes on when a page edits a message, or wants another answer to one.

use domain::event::Role;
use domain::{Fact, RecordedEvent, Version};
use runs::ui_message::UiRole;
use runtime::http::HttpProblem;

use crate::http::chats::messages::{MESSAGES_PAGE, MessagesPage, Paging, shown};
use crate::http::owned_chat::Owned;
use crate::http::state::HttpState;
use crate::http::talk::{refusal, turn};

/// Most pages of messages that are looked through for one, from the newest back.
const PAGES_MAX: usize = 25;

/// Behind which version a chat goes on whose user wants another answer: behind the message that is answered anew. That is the
/// one that is named, or that the named answer answers, or the last. Where its answer is not recorded yet, it is passed over
/// once it is.
///
/// # Errors
/// 404 `MESSAGE_NOT_FOUND`; 409 `NOTHING_TO_ANSWER`.
pub(super) async fn to_answer(
    state: &HttpState,
    chat: &Owned,
    message_id: Option<&str>,
) -> Result<Version, HttpProblem> {
    // The answer that is being made is the last, and no message has its id before it is recorded.
    let active = chat.conversation.head.active_run.as_ref();
    let active = active.map(|run| run.id.to_string());
    let message_id = message_id.filter(|id| active.as_deref() != Some(*id));
    let mut before = None;
    for _ in 0..PAGES_MAX {
        let page = read(state, chat, before).await?;
        if let Some(place) = answered(&page, message_id) {
            let mut until = page.messages.iter().take(place + 1);
            let user = until.rposition(|message| message.role == UiRole::User);
            let end = user.and_then(|user| page.ends.get(user));
            return end.copied().ok_or_else(refusal::nothing_to_answer);
        }
        before = page.next_before;
        if before.is_none() {
            break;
        }
    }
    Err(match message_id {
        Some(_) => refusal::no_such_message(),
        None => refusal::nothing_to_answer(),
    })
}

/// Where the message stands that is named, or the last.
fn answered(page: &MessagesPage, message_id: Option<&str>) -> Option<usize> {
    let Some(id) = message_id else {
        return page.messages.len().checked_sub(1);
    };
    let is_users = |event: &&RecordedEvent| is_said_by_user(event) && turn::is_called(event, id);
    let said = page.events.iter().find(is_users);
    let said = said.map(|event| event.event.id.to_string());
    let mut messages = page.messages.iter();
    messages.position(|message| message.id == id || said.as_ref() == Some(&message.id))
}

/// Where a chat goes on from whose user has edited a message: from behind what was before it.
///
/// # Errors
/// 404 `MESSAGE_NOT_FOUND`.
pub(super) async fn to_edit(
    state: &HttpState,
    chat: &Owned,
    message_id: &str,
) -> Result<Version, HttpProblem> {
    let mut before = None;
    for _ in 0..PAGES_MAX {
        let page = read(state, chat, before).await?;
        let is_it =
            |event: &&RecordedEvent| is_said_by_user(event) && turn::is_called(event, message_id);
        if let Some(event) = page.events.iter().find(is_it) {
            return Ok(Version(event.version.0.saturating_sub(1)));
        }
        before = page.next_before;
        if before.is_none() {
            break;
        }
    }
    Err(refusal::no_such_message())
}

fn is_said_by_user(event: &RecordedEvent) -> bool {
    matches!(&event.event.fact, Fact::MessageAppended(message) if message.role == Role::User)
}

async fn read(
    state: &HttpState,
    chat: &Owned,
    before: Option<Version>,
) -> Result<MessagesPage, HttpProblem> {
    let paging = Paging {
        limit: MESSAGES_PAGE.max,
        before,
    };
    shown(state, chat, paging).await
}
