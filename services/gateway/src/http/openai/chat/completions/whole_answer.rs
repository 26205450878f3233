//! The whole answer of a model, for clients that do not stream.

use domain::{Fact, RunPartKind};
use futures::StreamExt as _;
use futures::stream::BoxStream;
use runtime::http::{DrainSignal, HttpProblem};

use super::answer::{CompletionBody, choice, usage};
use super::chunks::ChunkHead;
use super::failure::{ended_early, problem_of};
use conversations::generation::FollowItem;

/// The whole completion.
pub(super) async fn whole(
    head: ChunkHead,
    parts: BoxStream<'static, FollowItem>,
    draining: DrainSignal,
) -> Result<CompletionBody, HttpProblem> {
    let facts = facts(parts, draining).await?;
    Ok(CompletionBody {
        id: head.id,
        object: "chat.completion",
        created: head.created,
        model: head.model,
        choices: [choice(&facts)],
        usage: usage(&facts),
    })
}

/// The facts of the reply.
async fn facts(mut parts: BoxStream<'static, FollowItem>, draining: DrainSignal) -> Result<Vec<Fact>, HttpProblem> {
    let mut reply = Vec::new();
    loop {
        let followed = tokio::select! {
            biased;
            () = draining.begun() => return Err(ended_early()),
            followed = parts.next() => followed,
        };
        let Some(FollowItem::Part(part)) = followed else {
            return Err(ended_early());
        };
        match part.kind {
            RunPartKind::StepFinished(facts) => reply = facts,
            RunPartKind::RunEnded(end) => {
                return match problem_of(&end) {
                    Some(problem) => Err(problem),
                    None => Ok(reply),
                };
            }
            RunPartKind::TextDelta(_)
            | RunPartKind::ThinkingDelta(_)
            | RunPartKind::RefusalDelta(_)
            | RunPartKind::CallBegan { .. }
            | RunPartKind::CallInput { .. }
            | RunPartKind::ToolReturned(_)
            | RunPartKind::KeptAlive => {}
        }
    }
}
