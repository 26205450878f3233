//! The last turn of a chat, and the assistant's message that a run continues. A run that follows results of calls
//! continues the message of its calls.

use domain::{Fact, Lifecycle, RunId, RunOutcome, Version};
use runs::ui_message::{UiPart, UiRole};
use runs::{UiMessage, page};
use wire::status::Problem;

use crate::Conversations;
use crate::message_pages::{MessagesPage, Paging, read_page};
use crate::open::OwnedChat;

/// The chat's last message. A run that starts without a message continues it, if it is the assistant's.
///
/// # Errors
/// The chat cannot be read.
pub async fn last_message(conversations: &Conversations, chat: &OwnedChat) -> Result<Option<UiMessage>, Problem> {
    Ok(last_turn(conversations, chat).await?.messages.pop())
}

/// The message that a run continued when it started; `None`: the run started its own.
///
/// # Errors
/// The chat cannot be read.
pub async fn continued_message(
    conversations: &Conversations,
    chat: &OwnedChat,
    run: RunId,
) -> Result<Option<UiMessage>, Problem> {
    let events = last_turn(conversations, chat).await?.events;
    let starts = |fact: &Fact| matches!(fact, Fact::Lifecycle(Lifecycle::RunStarted(started)) if started.run == run);
    let start = events.iter().position(|event| starts(&event.event.fact));
    // If the run is of an earlier turn, or too old for one page, it is shown as a message of its own.
    let before = start.and_then(|start| events.get(..=start)).unwrap_or_default();
    let approvals = conversations.approvals(&chat.target.access.agent);
    Ok(runs::continued_message(&page(before, None, &approvals)).cloned())
}

/// The chat's last turn.
///
/// # Errors
/// The chat cannot be read.
pub async fn last_turn(conversations: &Conversations, chat: &OwnedChat) -> Result<MessagesPage, Problem> {
    let paging = Paging { limit: 1, before: None };
    read_page(conversations, chat, paging).await
}

/// The version of the last turn's message, which a turn without a key replaces, if that turn failed and had the same text; `None`: it
/// had another text, or was answered.
///
/// # Errors
/// The chat cannot be read.
pub async fn failed_message_version(
    conversations: &Conversations,
    chat: &OwnedChat,
    text: &str,
) -> Result<Option<Version>, Problem> {
    let turn = last_turn(conversations, chat).await?;
    let [.., message, answer] = turn.messages.as_slice() else {
        return Ok(None);
    };
    if !has_failed(answer) || !has_text(message, text) {
        return Ok(None);
    }
    let index = turn.ends.len().checked_sub(2);
    Ok(index.and_then(|index| turn.ends.get(index)).copied())
}

fn has_failed(answer: &UiMessage) -> bool {
    let outcome = answer.metadata.map(|known| known.outcome);
    matches!(outcome, Some(RunOutcome::Failed | RunOutcome::Abandoned))
}

fn has_text(message: &UiMessage, text: &str) -> bool {
    let is_text = |part: &UiPart| matches!(part, UiPart::Text { text: known, .. } if known == text);
    message.role == UiRole::User && message.parts.len() == 1 && message.parts.iter().all(is_text)
}
