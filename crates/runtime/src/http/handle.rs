//! The layers around every request: request ids, response headers, spans and panics by `tower_http`; timeouts, sizes and
//! metrics by [`handle`].
//!
//! `tower_http` lacks the following, as tests in `tests/http` show:
//! - `TimeoutLayer` returns no problem, does not cover the body of a response, and does not exempt streams
//!   (`bounds::a_request_ends_at_its_timeout`).
//! - `TraceLayer` has no metrics, and reports nothing for a client that leaves
//!   (`telemetry::requests_are_counted_by_route_and_status`).
//! - `CatchPanicLayer` does not cover the body of a response (`rejections::a_panic_in_a_body_ends_only_its_response`).

use std::any::Any;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, StatusCode};
use http_body::Body as _;
use tokio::time::{Instant, sleep_until, timeout_at};
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::request_id::{PropagateRequestIdLayer, SetRequestIdLayer};
use tower_http::set_header::SetResponseHeaderLayer;
use tower_http::trace::TraceLayer;

use super::admission::{Admission, DrainSignal, IsStream};
use super::body::ResponseBody;
use super::observe::{self, Observation};
use super::problem::HttpProblem;
use super::request_id::{self, MakeUuidV7, REQUEST_ID_HEADER};
use crate::net::{Exchange, Interruption, Peer, Proxies};
use crate::telemetry::Caller;

/// Bytes of a header besides its name and value: `: ` and the end of the line.
const HEADER_OVERHEAD_BYTES: usize = 4;

/// The settings and state that the requests of one server share.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) admission: Arc<Admission>,
    pub(super) drain: DrainSignal,
    pub(super) request_timeout: Duration,
    pub(super) header_bytes_max: usize,
    pub(super) proxies: Proxies,
}

impl Rules {
    /// Only the traces of trusted proxies are continued: browsers can send any trace headers.
    fn caller(&self, request: &Request) -> Caller {
        let peer = request.extensions().get::<Peer>();
        if peer.is_some_and(|Peer(peer)| self.proxies.contains(peer.ip())) { Caller::Trusted } else { Caller::Public }
    }
}

/// The received bytes of the request line and headers.
#[derive(Debug, Clone, Copy, Default)]
struct HeaderBytes(usize);

/// Adds the layers to a router, the outermost first. The response headers make browsers keep no copy (unless the response has
/// its own `Cache-Control`), guess no content type, and send no referrer.
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
    let set = |name, text| SetResponseHeaderLayer::overriding(name, value(text));
    router.layer(
        ServiceBuilder::new()
            .layer(set(REFERRER_POLICY, "no-referrer"))
            .layer(set(X_CONTENT_TYPE_OPTIONS, "nosniff"))
            .layer(SetResponseHeaderLayer::if_not_present(CACHE_CONTROL, value("no-store")))
            .map_request(prepare)
            .layer(SetRequestIdLayer::new(REQUEST_ID_HEADER, MakeUuidV7))
            .layer(PropagateRequestIdLayer::new(REQUEST_ID_HEADER))
            .layer(trace)
            .layer(from_fn_with_state(rules, handle))
            .layer(CatchPanicLayer::custom(panicked)),
    )
}

/// Measures the headers before a layer adds headers, and removes a malformed request id.
fn prepare(mut request: Request) -> Request {
    let bytes = header_bytes(&request);
    request.extensions_mut().insert(HeaderBytes(bytes));
    request_id::remove_malformed(request.headers_mut());
    request
}

/// Applies the rules to a request, and records its metrics.
async fn handle(State(rules): State<Arc<Rules>>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let mut observation = Observation::start(&request);
    let exchange = request.extensions().get::<Arc<Exchange>>().cloned();
    request.extensions_mut().insert(rules.drain.clone());
    // A timeout beyond the range of the clock is ignored.
    let deadline = started.checked_add(rules.request_timeout);
    let mut response = match check_headers(&rules, &request) {
        Ok(()) => {
            let response = respond(request, next, deadline);
            unless_interrupted(response, exchange.as_deref(), &rules).await
        }
        Err(problem) => problem.into_response(),
    };
    if let Some(exchange) = &exchange {
        // The handler has read the body of the request.
        exchange.release_memory();
        if !exchange.hold_memory(body_bytes(&response)) {
            response = rules.admission.out_of_memory().into_response();
        }
    }
    let problem = response.extensions().get::<HttpProblem>();
    if let (Some(_), Some(exchange)) = (problem, &exchange) {
        // A problem response holds no slot while it is sent.
        exchange.release();
    }
    observation.response_started(response.status(), problem);
    let mut timeout = deadline.map(sleep_until);
    if response.extensions_mut().remove::<IsStream>().is_some() {
        observation.stream_started();
        timeout = None;
    }
    response.map(|inner| Body::new(ResponseBody { inner, timeout, observation }))
}

/// The size of a body that is in memory as a whole; 0: it is a stream.
fn body_bytes(response: &Response) -> usize {
    let bytes = response.body().size_hint().exact().unwrap_or_default();
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// The response, or a problem if the client made no progress while the server waited for it.
async fn unless_interrupted(
    response: impl Future<Output = Response>,
    exchange: Option<&Exchange>,
    rules: &Rules,
) -> Response {
    let interruption = |cx: &mut Context<'_>| exchange.map_or(Poll::Pending, |one| one.poll_interrupted(cx));
    tokio::select! {
        biased;
        response = response => response,
        reason = poll_fn(interruption) => match reason {
            Interruption::Preempted => rules.admission.preempted().into_response(),
            Interruption::OutOfMemory => rules.admission.out_of_memory().into_response(),
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
        let detail = format!("request line and headers have {bytes} bytes, the maximum is {max}");
        return Err(HttpProblem::new(status, "HEADERS_TOO_LARGE", detail));
    }
    Ok(())
}

fn header_bytes(request: &Request) -> usize {
    let uri = request.uri();
    let path = uri.path_and_query().map_or(0, |path| path.as_str().len());
    let headers = request.headers().iter();
    let lines = headers.map(|(name, value)| name.as_str().len() + value.len() + HEADER_OVERHEAD_BYTES).sum::<usize>();
    request.method().as_str().len() + path + lines
}

async fn respond(request: Request, next: Next, deadline: Option<Instant>) -> Response {
    let response = next.run(request);
    let Some(deadline) = deadline else {
        return response.await;
    };
    timeout_at(deadline, response).await.unwrap_or_else(|_| {
        let detail = "the request timed out before the response was ready";
        HttpProblem::new(StatusCode::GATEWAY_TIMEOUT, "DEADLINE_EXCEEDED", detail).into_response()
    })
}

/// The text of a panic is not logged: it may contain data of the request.
fn panicked(_: Box<dyn Any + Send>) -> Response {
    tracing::error!("the handler of a request panicked");
    let detail = "the server failed to respond: try again, or report the request id";
    HttpProblem::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", detail).into_response()
}
