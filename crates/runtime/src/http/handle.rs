//! The layers around every request: request ids, headers of responses, spans and panics by `tower_http`; time, size and
//! metrics by [`handle`].
//!
//! What `tower_http` lacks, and the tests in `tests/http` that show it:
//! - `TimeoutLayer` answers without a problem, and covers neither the body of a response nor exempts streams
//!   (`bounds::a_request_has_its_time_and_no_more`).
//! - `TraceLayer` has no metrics, and reports nothing for a client that leaves
//!   (`telemetry::requests_are_counted_by_route_and_status`).
//! - `CatchPanicLayer` does not cover the body of a response (`refusals::a_panic_in_a_body_ends_its_answer_alone`).

use std::any::Any;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, StatusCode};
use ipnet::IpNet;
use tokio::time::{Instant, sleep_until, timeout_at};
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::request_id::{PropagateRequestIdLayer, SetRequestIdLayer};
use tower_http::set_header::SetResponseHeaderLayer;
use tower_http::trace::TraceLayer;

use super::admission::{Admission, Draining, IsStream};
use super::body::AnswerBody;
use super::observe::{self, Observation};
use super::problem::{HttpProblem, ProblemCode};
use super::request_id::{self, MakeUuidV7, REQUEST_ID_HEADER};
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

/// The bytes of the request line and headers, as they were received.
#[derive(Debug, Clone, Copy, Default)]
struct HeaderBytes(usize);

/// Puts the layers around a router, the outermost first. Browsers are told to keep no copy unless the response says
/// otherwise, to guess no type, and to send no address to other sites.
pub(super) fn layered(router: Router, rules: Rules) -> Router {
    let rules = Arc::new(rules);
    let trace = TraceLayer::new_for_http()
        .make_span_with({
            let rules = Arc::clone(&rules);
            move |request: &Request| observe::span(request, rules.caller(request))
        })
        .on_request(())
        .on_response(())
        .on_body_chunk(())
        .on_eos(())
        .on_failure(());
    let value = HeaderValue::from_static;
    router.layer(
        ServiceBuilder::new()
            .layer(SetResponseHeaderLayer::overriding(
                REFERRER_POLICY,
                value("no-referrer"),
            ))
            .layer(SetResponseHeaderLayer::overriding(
                X_CONTENT_TYPE_OPTIONS,
                value("nosniff"),
            ))
            .layer(SetResponseHeaderLayer::if_not_present(
                CACHE_CONTROL,
                value("no-store"),
            ))
            .map_request(receive)
            .layer(SetRequestIdLayer::new(REQUEST_ID_HEADER, MakeUuidV7))
            .layer(PropagateRequestIdLayer::new(REQUEST_ID_HEADER))
            .layer(trace)
            .layer(from_fn_with_state(rules, handle))
            .layer(CatchPanicLayer::custom(panicked)),
    )
}

/// Measures the headers before a layer adds to them.
fn receive(mut request: Request) -> Request {
    let bytes = header_bytes(&request);
    request.extensions_mut().insert(HeaderBytes(bytes));
    request_id::remove_malformed(request.headers_mut());
    request
}

/// Measures and bounds a request.
async fn handle(State(rules): State<Arc<Rules>>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let mut observation = Observation::start(&request);
    let exchange = request.extensions().get::<Arc<Exchange>>().cloned();
    request.extensions_mut().insert(rules.draining.clone());
    // A timeout beyond the range of the clock is none.
    let deadline = started.checked_add(rules.request_timeout);
    let mut response = match check_headers(&rules, &request) {
        Ok(()) => {
            let answer = answer(request, next, deadline);
            unless_interrupted(answer, exchange.as_deref(), &rules).await
        }
        Err(problem) => problem.into_response(),
    };
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
    let HeaderBytes(bytes) = request.extensions().get().copied().unwrap_or_default();
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
    let running = next.run(request);
    let Some(deadline) = deadline else {
        return running.await;
    };
    timeout_at(deadline, running).await.unwrap_or_else(|_| {
        let detail = "the request's time passed before the answer was ready";
        HttpProblem::new(StatusCode::GATEWAY_TIMEOUT, "DEADLINE_EXCEEDED", detail).into_response()
    })
}

/// The text of a panic is not logged: it may contain what the request did.
fn panicked(_: Box<dyn Any + Send>) -> Response {
    tracing::error!("request's handler panicked");
    let detail = "the server failed to answer: try again, or report the request id";
    HttpProblem::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", detail).into_response()
}
