//! The assistant's message that a run goes on with: where a run follows results of calls, no user's message stands between.

use domain::{Fact, RunId};
use runs::{UiMessage, continued, page};
use runtime::http::HttpProblem;

use crate::http::chats::messages::{MessagesPage, Paging, shown};
use crate::http::owned_chat::Owned;
use crate::http::state::HttpState;

/// The chat's last message; a run that starts now with no message of its own goes on with it, if it is the assistant's.
pub(super) async fn last_message(
    state: &HttpState,
    chat: &Owned,
) -> Result<Option<UiMessage>, HttpProblem> {
    Ok(last_turn(state, chat).await?.messages.pop())
}

/// The message that a run went on with when it started; `None`: it began its own.
pub(super) async fn of_run(
    state: &HttpState,
    chat: &Owned,
    run: RunId,
) -> Result<Option<UiMessage>, HttpProblem> {
    let events = last_turn(state, chat).await?.events;
    let starts = |fact: &Fact| matches!(fact, Fact::RunStarted(started) if started.run == run);
    let start = events.iter().position(|event| starts(&event.event.fact));
    // A run of an earlier turn, or one too long ago to be in what a page reads, is told as a message of its own.
    let before = start
        .and_then(|start| events.get(..=start))
        .unwrap_or_default();
    let approvals = state.approvals(&chat.target.access.agent);
    Ok(continued(&page(before, None, &approvals)).cloned())
}

/// The chat's last turn.
pub(super) async fn last_turn(
    state: &HttpState,
    chat: &Owned,
) -> Result<MessagesPage, HttpProblem> {
    let paging = Paging {
        limit: 1,
        before: None,
    };
    shown(state, chat, paging).await
}
