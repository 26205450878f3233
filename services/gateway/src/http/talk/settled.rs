//! A chat whose last run has been heard to its end, and is not finished yet: whoever hears the end may go on at once.

use runtime::http::HttpProblem;

use crate::generation::RunKey;
use crate::http::owned_chat::{Owned, conversation};
use crate::http::state::HttpState;

/// The chat with all that its last run came to, if that has come to its end; else as it is.
///
/// # Errors
/// The chat cannot be read.
pub(super) async fn settled(state: &HttpState, chat: Owned) -> Result<Owned, HttpProblem> {
    let Some(active) = &chat.conversation.head.active_run else {
        return Ok(chat);
    };
    let run = RunKey {
        agent: chat.target.access.agent.clone(),
        key: chat.target.key.clone(),
        run: active.id,
    };
    if !state.generations.finish_closed(&run).await {
        return Ok(chat);
    }
    let (conversation, _) = conversation(state, &chat.target).await?;
    Ok(Owned {
        conversation,
        ..chat
    })
}
