//! A turn that failed and is said once more without a key: it takes the place of the first.

use domain::{RunOutcome, Version};
use runs::UiMessage;
use runs::ui_message::{UiPart, UiRole};
use runtime::http::HttpProblem;

use crate::http::owned_chat::Owned;
use crate::http::state::HttpState;
use crate::http::talk::behind;

/// Behind which version a session goes on whose last turn said the same and failed: behind its message. `None`: the last turn is
/// another, or was answered.
///
/// # Errors
/// The session cannot be read.
pub(super) async fn said_before(
    state: &HttpState,
    session: &Owned,
    text: &str,
) -> Result<Option<Version>, HttpProblem> {
    let turn = behind::last_turn(state, session).await?;
    let [.., said, answer] = turn.messages.as_slice() else {
        return Ok(None);
    };
    if !has_failed(answer) || !says(said, text) {
        return Ok(None);
    }
    let place = turn.ends.len().checked_sub(2);
    Ok(place.and_then(|place| turn.ends.get(place)).copied())
}

fn has_failed(answer: &UiMessage) -> bool {
    let outcome = answer.metadata.map(|known| known.outcome);
    matches!(outcome, Some(RunOutcome::Failed | RunOutcome::Abandoned))
}

fn says(said: &UiMessage, text: &str) -> bool {
    let is_text = |part: &UiPart| matches!(part, UiPart::Text { text: said, .. } if said == text);
    said.role == UiRole::User && said.parts.len() == 1 && said.parts.iter().all(is_text)
}
