//! The one layer around every request: name, admit, observe, bound, and answer whatever happens.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use http::StatusCode;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep_until, timeout_at};
use tracing::Instrument;

use super::admission::{Admission, Draining, StreamPlace};
use super::body::{AnswerBody, Place};
use super::observe::Observation;
use super::problem::{HttpProblem, ProblemCode};
use super::request_id::{REQUEST_ID_HEADER, RequestId};

/// What each header costs beside its name and value: `: ` and the end of its line.
const HEADER_OVERHEAD_BYTES: usize = 4;

/// What the requests of one server share.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) admission: Arc<Admission>,
    pub(super) draining: Draining,
    pub(super) request_timeout: Duration,
    pub(super) header_bytes_max: usize,
}

/// Puts the rules around a request.
pub(super) async fn handle(
    State(rules): State<Arc<Rules>>,
    mut request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let id = RequestId::of(request.headers());
    let mut observation = Observation::start(&request, &id);
    let extensions = request.extensions_mut();
    extensions.insert(id.clone());
    extensions.insert(rules.draining.clone());
    extensions.insert(Arc::clone(&rules.admission));
    // A timeout beyond the range of the clock is none.
    let deadline = started.checked_add(rules.request_timeout);
    let span = observation.span().clone();
    let (mut response, mut place) = match admit(&rules, &request) {
        Ok(place) => {
            let answer = answer(request, next, deadline).instrument(span);
            (answer.await, Place::Request(place))
        }
        Err(problem) => (problem.into_response(), Place::None),
    };
    response
        .headers_mut()
        .insert(REQUEST_ID_HEADER, id.header());
    observation.answered(
        response.status(),
        response.extensions().get::<ProblemCode>(),
    );
    let mut timeout = deadline.map(sleep_until);
    if let Some(stream) = response.extensions_mut().remove::<StreamPlace>() {
        observation.streams();
        place = Place::Stream(stream);
        timeout = None;
    }
    response.map(|body| Body::new(AnswerBody::new(body, timeout, observation, place)))
}

fn admit(rules: &Rules, request: &Request) -> Result<OwnedSemaphorePermit, HttpProblem> {
    let bytes = header_bytes(request);
    if bytes > rules.header_bytes_max {
        let max = rules.header_bytes_max;
        let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        let detail =
            format!("request line and headers have {bytes} bytes, at most {max} are taken");
        return Err(HttpProblem::new(status, "HEADERS_TOO_LARGE", detail));
    }
    rules.admission.request()
}

fn header_bytes(request: &Request) -> usize {
    let uri = request.uri();
    let path = uri.path_and_query().map_or(0, |path| path.as_str().len());
    let headers = request.headers().iter();
    let lines = headers
        .map(|(name, value)| name.as_str().len() + value.len() + HEADER_OVERHEAD_BYTES)
        .sum::<usize>();
    request.method().as_str().len() + path + lines
}

async fn answer(request: Request, next: Next, deadline: Option<Instant>) -> Response {
    let running = AssertUnwindSafe(next.run(request)).catch_unwind();
    let ended = match deadline {
        Some(deadline) => timeout_at(deadline, running).await,
        None => Ok(running.await),
    };
    match ended {
        Ok(Ok(response)) => response,
        Ok(Err(_panic)) => {
            // What it says may hold what the request did.
            tracing::error!("request's handler panicked");
            let detail = "the server failed to answer: try again, or report the request id";
            HttpProblem::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", detail).into_response()
        }
        Err(_elapsed) => {
            let detail = "the request's time passed before the answer was ready";
            HttpProblem::new(StatusCode::GATEWAY_TIMEOUT, "DEADLINE_EXCEEDED", detail)
                .into_response()
        }
    }
}
