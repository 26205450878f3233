//! An answer as a whole, for callers who do not listen to it.

use axum::http::StatusCode;
use domain::event::{ErrorOccurred, RunStarted, Usage};
use domain::{Fact, Part, RunId, RunOutcome};
use futures::StreamExt as _;
use futures::stream::BoxStream;
use runs::RunFold;
use runtime::http::{Draining, HttpProblem};

use crate::generation::Followed;
use crate::problem::RETRY_AFTER;

/// An answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reply {
    /// What the model said, its steps in lines of their own.
    pub(super) text: String,
    /// What it took.
    pub(super) usage: Usage,
}

/// Hears a run to its end.
///
/// # Errors
/// 502 `RUN_FAILED` where the model did; 503 where the run or this gateway ended before it.
pub(super) async fn gather(
    mut parts: BoxStream<'static, Followed>,
    run: Option<RunId>,
    draining: Draining,
) -> Result<Reply, HttpProblem> {
    let mut fold = RunFold::new(started(run));
    while fold.end().is_none() {
        let followed = tokio::select! {
            biased;
            () = draining.begun() => return Err(ended(run)),
            followed = parts.next() => followed,
        };
        let Some(Followed::Part(part)) = followed else {
            return Err(ended(run));
        };
        fold.absorb(&part).map_err(|_| failed(run, None))?;
    }
    match fold.end() {
        Some(end) => match end.outcome {
            RunOutcome::Completed | RunOutcome::Stopped => Ok(reply(&fold.facts())),
            RunOutcome::Failed => Err(failed(run, end.error.as_ref())),
            RunOutcome::Abandoned => Err(ended(run)),
        },
        None => Err(ended(run)),
    }
}

/// A run's beginning, as far as its parts tell of it.
pub(super) fn started(run: Option<RunId>) -> RunStarted {
    RunStarted {
        run: run.unwrap_or(RunId(uuid::Uuid::nil())),
        model: None,
        provider: None,
    }
}

fn reply(facts: &[Fact]) -> Reply {
    let mut reply = Reply::default();
    let mut texts = Vec::new();
    for fact in facts {
        let Fact::MessageAppended(message) = fact else {
            continue;
        };
        let said = message.parts.iter().filter_map(|part| match part {
            Part::Text(text) | Part::Refusal(text) => Some(text.as_str()),
            Part::Image { .. }
            | Part::File { .. }
            | Part::Thinking { .. }
            | Part::RedactedThinking(_)
            | Part::ProviderItem { .. } => None,
        });
        texts.extend(said);
        if let Some(used) = &message.usage {
            reply.usage.input_tokens += used.input_tokens;
            reply.usage.output_tokens += used.output_tokens;
            reply.usage.cached_tokens += used.cached_tokens;
        }
    }
    reply.text = texts.join("\n");
    reply
}

/// Names the failure, and not what the server said of it, which may hold contents.
fn failed(run: Option<RunId>, error: Option<&ErrorOccurred>) -> HttpProblem {
    let error_type = error.map_or("model_reply_broken", |error| error.error_type.as_str());
    let detail = "the model failed to answer, as `error_type` says: try again, or tell who runs it";
    let problem = HttpProblem::new(StatusCode::BAD_GATEWAY, "RUN_FAILED", detail);
    named(problem.with("error_type", error_type), run)
}

fn ended(run: Option<RunId>) -> HttpProblem {
    let detail = "the answer was not heard to its end: load the messages, or try again";
    let problem = HttpProblem::new(StatusCode::SERVICE_UNAVAILABLE, "RUN_NOT_HEARD", detail);
    named(problem.retry_after(RETRY_AFTER), run)
}

fn named(problem: HttpProblem, run: Option<RunId>) -> HttpProblem {
    match run {
        Some(run) => problem.with("run_id", run.to_string()),
        None => problem,
    }
}
