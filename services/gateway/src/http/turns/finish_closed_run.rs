//! Finishes a run whose parts have ended, so that a client can send the next turn at the end of the stream.

use runtime::http::HttpProblem;

use crate::generation::RunKey;
use crate::http::owned_chat::{OwnedChat, read_conversation};
use crate::http::state::HttpState;

/// The chat after its last run is finished, if the run's parts have ended; otherwise the chat unchanged.
///
/// # Errors
/// The chat cannot be read.
pub(in crate::http) async fn finish_closed_run(
    state: &HttpState,
    chat: OwnedChat,
) -> Result<OwnedChat, HttpProblem> {
    let Some(active) = &chat.conversation.head.active_run else {
        return Ok(chat);
    };
    let run = RunKey {
        agent: chat.target.access.agent.clone(),
        key: chat.target.key.clone(),
        run: active.id,
    };
    if !state.generations.finish_if_closed(&run).await {
        return Ok(chat);
    }
    let (conversation, _) = read_conversation(state, &chat.target).await?;
    Ok(OwnedChat {
        conversation,
        ..chat
    })
}
