//! The complete answer of a run, for callers that do not stream.

use axum::http::StatusCode;
use domain::event::{ErrorOccurred, RunStarted, Usage};
use domain::{Fact, RunId, RunOutcome};
use futures::StreamExt as _;
use futures::stream::BoxStream;
use runs::RunFold;
use runtime::http::{DrainSignal, HttpProblem};

use crate::http::body::texts;
use conversations::generation::{FollowItem, reported_usage};
use conversations::problem::RETRY_AFTER;

/// A complete answer.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::http) struct Reply {
    /// The texts of the model, one line per step.
    pub(in crate::http) text: String,
    pub(in crate::http) usage: Usage,
}

/// Reads a run to its end.
///
/// # Errors
/// 502 `RUN_FAILED` if the model failed; 503 if the run or this gateway ended early.
pub(in crate::http) async fn collect_reply(
    mut parts: BoxStream<'static, FollowItem>,
    run: Option<RunId>,
    draining: DrainSignal,
) -> Result<Reply, HttpProblem> {
    let mut fold = RunFold::new(run_started(run));
    while fold.end().is_none() {
        let followed = tokio::select! {
            biased;
            () = draining.begun() => return Err(ended_early(run)),
            followed = parts.next() => followed,
        };
        let Some(FollowItem::Part(part)) = followed else {
            return Err(ended_early(run));
        };
        fold.absorb(&part).map_err(|_| failed(run, None))?;
    }
    match fold.end() {
        Some(end) => match end.outcome {
            RunOutcome::Completed | RunOutcome::Stopped => Ok(reply(&fold.facts())),
            RunOutcome::Failed => Err(failed(run, end.error.as_ref())),
            RunOutcome::Abandoned => Err(ended_early(run)),
        },
        None => Err(ended_early(run)),
    }
}

/// The start of a run, as far as its parts contain it.
pub(in crate::http) fn run_started(run: Option<RunId>) -> RunStarted {
    RunStarted { run: run.unwrap_or(RunId(uuid::Uuid::nil())), model: None, provider: None }
}

fn reply(facts: &[Fact]) -> Reply {
    let messages = facts.iter().filter_map(|fact| match fact {
        Fact::MessageAppended(message) => Some(message),
        Fact::ToolCalled(_) | Fact::ToolReturned(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => None,
    });
    let lines: Vec<_> = messages.flat_map(|message| texts(&message.parts)).collect();
    Reply { text: lines.join("\n"), usage: reported_usage(facts).unwrap_or_default() }
}

/// Names the type of the failure. The model server's message is left out: it may contain content.
fn failed(run: Option<RunId>, error: Option<&ErrorOccurred>) -> HttpProblem {
    let error_type = error.map_or("model_reply_broken", |error| error.error_type.as_str());
    let detail = "the model failed to answer, see `error_type`: try again, or report it to the operator";
    let problem = HttpProblem::new(StatusCode::BAD_GATEWAY, "RUN_FAILED", detail);
    with_run_id(problem.with("error_type", error_type), run)
}

fn ended_early(run: Option<RunId>) -> HttpProblem {
    let detail = "the answer ended early: load the messages, or try again";
    let problem = HttpProblem::new(StatusCode::SERVICE_UNAVAILABLE, "RUN_NOT_HEARD", detail);
    with_run_id(problem.retry_after(RETRY_AFTER), run)
}

fn with_run_id(problem: HttpProblem, run: Option<RunId>) -> HttpProblem {
    match run {
        Some(run) => problem.with("run_id", run.to_string()),
        None => problem,
    }
}

#[cfg(test)]
mod tests {
    use domain::Part;
    use domain::event::{MessageAppended, Role};

    use super::*;

    #[test]
    fn the_usage_of_a_reply_saturates() {
        let usage = Usage { input_tokens: u64::MAX, output_tokens: 1, ..Usage::default() };
        let message = MessageAppended {
            usage: Some(usage),
            ..MessageAppended::new(Role::Assistant, vec![Part::Text("a".to_owned())])
        };
        let expected = Reply { text: "a\na".to_owned(), usage: Usage { output_tokens: 2, ..usage } };
        assert_eq!(reply(&[Fact::MessageAppended(message.clone()), Fact::MessageAppended(message)]), expected);
    }
}
