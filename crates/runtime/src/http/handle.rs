//! The one layer around every request: name, observe, bound, and answer whatever happens.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use http::StatusCode;
use ipnet::IpNet;
use tokio::time::{Instant, sleep_until, timeout_at};
use tracing::Instrument;

use super::admission::{Admission, Draining, IsStream};
use super::body::AnswerBody;
use super::observe::Observation;
use super::problem::{HttpProblem, ProblemCode};
use super::request_id::{REQUEST_ID_HEADER, RequestId};
use super::security_headers;
use crate::net::{Exchange, Interruption, Peer};
use crate::telemetry::Caller;

/// What each header costs beside its name and value: `: ` and the end of its line.
const HEADER_OVERHEAD_BYTES: usize = 4;

/// What the requests of one server share.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) admission: Arc<Admission>,
    pub(super) draining: Draining,
    pub(super) request_timeout: Duration,
    pub(super) header_bytes_max: usize,
    pub(super) trusted_proxies: Vec<IpNet>,
}

impl Rules {
    /// Only a trusted proxy's trace is continued: what a browser sends names no trace of ours.
    fn caller(&self, request: &Request) -> Caller {
        let peer = request.extensions().get::<Peer>();
        let address = peer.map(|Peer(peer)| peer.ip().to_canonical());
        let trusts = |address| {
            self.trusted_proxies
                .iter()
                .any(|net| net.contains(&address))
        };
        if address.is_some_and(trusts) {
            Caller::Trusted
        } else {
            Caller::Public
        }
    }
}

/// Puts the rules around a request.
pub(super) async fn handle(
    State(rules): State<Arc<Rules>>,
    mut request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let id = RequestId::of(request.headers());
    let mut observation = Observation::start(&request, &id, rules.caller(&request));
    let exchange = request.extensions().get::<Arc<Exchange>>().cloned();
    let extensions = request.extensions_mut();
    extensions.insert(id.clone());
    extensions.insert(rules.draining.clone());
    // A timeout beyond the range of the clock is none.
    let deadline = started.checked_add(rules.request_timeout);
    let span = observation.span().clone();
    let mut response = match check_headers(&rules, &request) {
        Ok(()) => {
            let answer = answer(request, next, deadline).instrument(span);
            unless_interrupted(answer, exchange.as_deref(), &rules).await
        }
        Err(problem) => problem.into_response(),
    };
    response
        .headers_mut()
        .insert(REQUEST_ID_HEADER, id.header());
    security_headers::insert(response.headers_mut());
    let problem = response.extensions().get::<ProblemCode>();
    if let (Some(_), Some(exchange)) = (problem, &exchange) {
        // A rejection holds no slot while it is sent.
        exchange.vacate();
    }
    observation.answered(response.status(), problem);
    let mut timeout = deadline.map(sleep_until);
    if response.extensions_mut().remove::<IsStream>().is_some() {
        observation.streams();
        timeout = None;
    }
    response.map(|body| Body::new(AnswerBody::new(body, timeout, observation)))
}

/// The answer, or a problem where the request's client made no progress while the server waited for it.
async fn unless_interrupted(
    answer: impl Future<Output = Response>,
    exchange: Option<&Exchange>,
    rules: &Rules,
) -> Response {
    let Some(exchange) = exchange else {
        return answer.await;
    };
    tokio::select! {
        biased;
        response = answer => response,
        why = poll_fn(|cx| exchange.poll_interrupted(cx)) => match why {
            Interruption::Preempted => rules.admission.preempted().into_response(),
            Interruption::BodyStalled => {
                let detail = "the body of the request made no progress: send it faster";
                HttpProblem::new(StatusCode::REQUEST_TIMEOUT, "BODY_TOO_SLOW", detail)
                    .into_response()
            }
        },
    }
}

fn check_headers(rules: &Rules, request: &Request) -> Result<(), HttpProblem> {
    let bytes = header_bytes(request);
    if bytes > rules.header_bytes_max {
        let max = rules.header_bytes_max;
        let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        let detail =
            format!("request line and headers have {bytes} bytes, at most {max} are taken");
        return Err(HttpProblem::new(status, "HEADERS_TOO_LARGE", detail));
    }
    Ok(())
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
