//! An answer that may take longer than a request may: its body begins with white space until it is there.

use std::convert::Infallible;
use std::pin::Pin;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures::stream::unfold;
use runtime::http::{HttpProblem, Json, OpenStream};
use serde::Serialize;
use tokio::time::{sleep, timeout};

use crate::http::state::HttpState;
use crate::http::talk::listener::HEARTBEAT;

/// What is sent while the answer is made: white space before JSON means nothing.
const STILL_ALIVE: &[u8] = b" ";

/// A failure that came after the answer had begun.
#[derive(Debug, Serialize)]
struct LateBody {
    error: LateError,
}

#[derive(Debug, Serialize)]
struct LateError {
    code: String,
    detail: String,
}

/// Answers in JSON, with the status that is due where the answer is there in time.
///
/// # Errors
/// What the answer fails with in time; later, it is told in the body.
pub(super) async fn respond<T: Serialize + Send + 'static>(
    state: &HttpState,
    open: OpenStream,
    answering: impl Future<Output = Result<T, HttpProblem>> + Send + 'static,
) -> Result<Response, HttpProblem> {
    let mut answering: Answering<T> = Box::pin(answering);
    if let Ok(answered) = timeout(head_within(state), &mut answering).await {
        return answered.map(|answer| Json(answer).into_response());
    }
    let body = unfold(Some(answering), async |answering| {
        let mut answering = answering?;
        tokio::select! {
            biased;
            answered = &mut answering => Some((Ok::<_, Infallible>(written(answered)), None)),
            () = sleep(HEARTBEAT) => Some((Ok(Bytes::from_static(STILL_ALIVE)), Some(answering))),
        }
    });
    let mut response = Response::new(Body::from_stream(body));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    Ok(open.respond(response))
}

type Answering<T> = Pin<Box<dyn Future<Output = Result<T, HttpProblem>> + Send>>;

/// Until when the answer's status can wait: well within what a request may take.
fn head_within(state: &HttpState) -> Duration {
    Duration::from_millis(state.section.server.request_timeout_ms) / 2
}

fn written<T: Serialize>(answered: Result<T, HttpProblem>) -> Bytes {
    let json = match answered {
        Ok(answer) => serde_json::to_vec(&answer),
        Err(problem) => serde_json::to_vec(&LateBody {
            error: LateError {
                code: problem.code.into_owned(),
                detail: problem.detail,
            },
        }),
    };
    json.unwrap_or_default().into()
}
