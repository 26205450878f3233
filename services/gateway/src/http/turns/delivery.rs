//! Delivers answers over HTTP: as server-sent events, or whole as JSON.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use conversations::answer::{Answer, Encoder, HEARTBEAT, WholeAnswer};
use conversations::problem::RETRY_AFTER;
use domain::RunId;
use domain::event::ErrorOccurred;
use futures::StreamExt as _;
use futures::stream::unfold;
use runs::Outcome;
use runtime::http::{HttpProblem, Json, StreamSlot};
use serde::Serialize;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use http_listener::sse;
use http_listener::state::HttpState;

/// Sent while an answer is generated: white space before JSON has no meaning.
const STILL_ALIVE: &[u8] = b" ";

/// What callers read of a failed model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum FailureDetail {
    /// The type of the error: callers with a public key.
    Type,
    /// Also our message. It never has the model server's text.
    Message,
}

/// What a surface makes of a whole answer.
pub(in crate::http) struct WholeForm<F> {
    /// The JSON of an answer.
    pub(in crate::http) body: F,
    /// What the caller reads of a failed model.
    pub(in crate::http) detail: FailureDetail,
    /// The JSON of a failure that is known after the response has started.
    pub(in crate::http) late: fn(&HttpProblem) -> Value,
}

/// The answer as server-sent events. The response holds its slot until it ends.
pub(in crate::http) fn stream(answer: Answer, encoder: impl Encoder, open: StreamSlot) -> Response {
    let texts = answer.stream(encoder, open.drain().token()).map(Ok::<_, Infallible>);
    open.respond(sse::response(Body::from_stream(texts)))
}

/// The whole answer as JSON. It may take longer than a request's timeout: the body then starts with white space, and a
/// failure that is known later has the status 200.
///
/// # Errors
/// As [`problem_of`], if it is known in time.
pub(in crate::http) async fn whole<T: Serialize + Send + 'static>(
    state: &HttpState,
    open: StreamSlot,
    answer: Answer,
    form: WholeForm<impl FnOnce(WholeAnswer) -> T + Send + 'static>,
) -> Result<Response, HttpProblem> {
    let WholeForm { body, detail, late } = form;
    let draining = open.drain().token();
    let answering = async move {
        let answer = answer.whole(draining).await;
        if let Some(problem) = problem_of(&answer.outcome, answer.run, detail) {
            return Err(problem);
        }
        Ok(body(answer))
    };
    let mut answering = Box::pin(answering);
    if let Ok(answered) = timeout(status_wait(state), &mut answering).await {
        return answered.map(|answer| Json(answer).into_response());
    }
    let body = unfold(Some((answering, late)), async |waiting| {
        let (mut answering, late) = waiting?;
        tokio::select! {
            biased;
            answered = &mut answering => Some((Ok::<_, Infallible>(to_json(answered, late)), None)),
            () = sleep(HEARTBEAT) => Some((Ok(Bytes::from_static(STILL_ALIVE)), Some((answering, late)))),
        }
    });
    let mut response = Response::new(Body::from_stream(body));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    Ok(open.respond(response))
}

/// How long a status can wait for the answer: half of a request's timeout.
pub(in crate::http) fn status_wait(state: &HttpState) -> Duration {
    Duration::from_millis(state.section.server.request_timeout_ms) / 2
}

fn to_json<T: Serialize>(answered: Result<T, HttpProblem>, late: fn(&HttpProblem) -> Value) -> Bytes {
    let body = match answered {
        Ok(answer) => serde_json::to_vec(&answer),
        Err(problem) => serde_json::to_vec(&late(&problem)),
    };
    body.unwrap_or_default().into()
}

/// The problem of an answer that failed or ended early; `None`: the caller gets the answer. A stopped answer is one: clients repeat
/// a request after a status of 5xx, and a stopped run must not start again.
pub(in crate::http) fn problem_of(outcome: &Outcome, run: Option<RunId>, detail: FailureDetail) -> Option<HttpProblem> {
    let problem = match outcome {
        Outcome::Completed
        | Outcome::WaitsForCalls
        | Outcome::CutByTokenLimit
        | Outcome::Refused
        | Outcome::Stopped => return None,
        Outcome::Failed(error) => failed(error.as_ref(), outcome.is_temporary(), detail),
        Outcome::Abandoned | Outcome::Interrupted(_) => return Some(ended_early(run)),
    };
    Some(with_run(problem, run))
}

fn failed(error: Option<&ErrorOccurred>, is_temporary: bool, detail: FailureDetail) -> HttpProblem {
    let error_type = error.map_or("unknown", |error| error.error_type.as_str());
    let reason = match (error, detail) {
        (Some(error), FailureDetail::Message) => error.message.as_str(),
        _ if is_temporary => "try again",
        _ => "report it to the operator",
    };
    let status = if is_temporary { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::BAD_GATEWAY };
    let problem =
        HttpProblem::new(status, "RUN_FAILED", format!("the model failed to answer ({error_type}): {reason}"))
            .with("error_type", error_type);
    if is_temporary { problem.retry_after(RETRY_AFTER) } else { problem }
}

/// The answer or its delivery ended early.
pub(in crate::http) fn ended_early(run: Option<RunId>) -> HttpProblem {
    let detail = match run {
        Some(_) => "the answer ended early: load the messages, or try again",
        None => "the answer ended early: try again",
    };
    let problem = HttpProblem::new(StatusCode::SERVICE_UNAVAILABLE, "RUN_NOT_HEARD", detail);
    with_run(problem.retry_after(RETRY_AFTER), run)
}

fn with_run(problem: HttpProblem, run: Option<RunId>) -> HttpProblem {
    match run {
        Some(run) => problem.with("run_id", run.to_string()),
        None => problem,
    }
}
