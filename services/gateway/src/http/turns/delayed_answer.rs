//! A JSON answer that may take longer than a request's timeout: the body starts with white space.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures::stream::unfold;
use runtime::http::{HttpProblem, Json, StreamSlot};
use serde::Serialize;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::http::state::HttpState;
use crate::http::turns::answer_stream::HEARTBEAT;

/// Sent while the answer is generated: white space before JSON has no meaning.
const STILL_ALIVE: &[u8] = b" ";

/// Answers in JSON. The status is correct if the answer is ready in time. `late` writes a failure that is known after the
/// response has started: its status cannot tell the failure.
///
/// # Errors
/// The failure of the answer, if it is known in time; a later one is sent in the body.
pub(in crate::http) async fn respond<T: Serialize + Send + 'static>(
    state: &HttpState,
    open: StreamSlot,
    answering: impl Future<Output = Result<T, HttpProblem>> + Send + 'static,
    late: fn(&HttpProblem) -> Value,
) -> Result<Response, HttpProblem> {
    let mut answering = Box::pin(answering);
    // The status can wait for half of a request's timeout.
    let status_wait = Duration::from_millis(state.section.server.request_timeout_ms) / 2;
    if let Ok(answered) = timeout(status_wait, &mut answering).await {
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

fn to_json<T: Serialize>(answered: Result<T, HttpProblem>, late: fn(&HttpProblem) -> Value) -> Bytes {
    let body = match answered {
        Ok(answer) => serde_json::to_vec(&answer),
        Err(problem) => serde_json::to_vec(&late(&problem)),
    };
    body.unwrap_or_default().into()
}
