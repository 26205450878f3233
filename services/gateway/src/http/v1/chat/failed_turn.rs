//! A failed turn that is sent again without a key: the new turn replaces it.

use domain::{RunOutcome, Version};
use runs::UiMessage;
use runs::ui_message::{UiPart, UiRole};
use runtime::http::HttpProblem;

use crate::http::owned_chat::OwnedChat;
use crate::http::state::HttpState;
use crate::http::turns::last_turn;

/// The version of the last turn's message, if that turn failed and had the same text; `None`: it had another text, or
/// was answered.
///
/// # Errors
/// The session cannot be read.
pub(super) async fn failed_message_version(
    state: &HttpState,
    session: &OwnedChat,
    text: &str,
) -> Result<Option<Version>, HttpProblem> {
    let turn = last_turn::last_turn(state, session).await?;
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
