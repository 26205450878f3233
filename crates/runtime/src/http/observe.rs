//! What is told about a request: its span, and its meters when it ends.

use std::time::Instant;

use axum::extract::MatchedPath;
use axum::extract::Request;
use http::{Method, StatusCode};
use metrics::{Gauge, counter, gauge, histogram};
use tower_http::request_id::RequestId;
use tracing::{Span, field};

use super::problem::ProblemCode;
use crate::telemetry::{self, Caller};

/// The name in traces and metrics of a path that no route has.
const UNMATCHED: &str = "unmatched";

/// What a request counts as whose caller left before its answer; not an official status.
const CALLER_LEFT: u16 = 499;

/// A request under observation, from its headers to the end of its answer, which is counted exactly once.
#[derive(Debug)]
pub(super) struct Observation {
    route: String,
    method: &'static str,
    span: Span,
    started: Instant,
    status: Option<StatusCode>,
    open_streams: Option<Gauge>,
    bytes: u64,
}

/// The span of a request.
pub(super) fn span(request: &Request, caller: Caller) -> Span {
    let id = request.extensions().get::<RequestId>();
    let id = id.and_then(|id| id.header_value().to_str().ok());
    let span = tracing::info_span!(
        "http.request.handle",
        otel.kind = "server",
        http.request.method = name_of(request.method()),
        http.route = route(request),
        request.id = id,
        http.response.status_code = field::Empty,
        http.response.body.size = field::Empty,
        problem.code = field::Empty,
        otel.status_code = field::Empty,
    );
    telemetry::receive(&span, caller, |name| {
        let value = request.headers().get(name)?;
        value.to_str().ok()
    });
    span
}

fn route(request: &Request) -> &str {
    let matched = request.extensions().get::<MatchedPath>();
    matched.map_or(UNMATCHED, MatchedPath::as_str)
}

impl Observation {
    /// Starts inside the request's span.
    pub(super) fn start(request: &Request) -> Self {
        gauge!("http_server_requests_in_flight").increment(1);
        Self {
            route: route(request).to_owned(),
            method: name_of(request.method()),
            span: Span::current(),
            started: Instant::now(),
            status: None,
            open_streams: None,
            bytes: 0,
        }
    }

    /// The answer's status is known.
    pub(super) fn answered(&mut self, status: StatusCode, code: Option<&ProblemCode>) {
        self.status = Some(status);
        if let Some(ProblemCode(code)) = code {
            self.span.record("problem.code", code.as_ref());
        }
    }

    /// The answer is a stream: it lasts as long as its caller likes, which is no latency.
    pub(super) fn streams(&mut self) {
        let open = gauge!("http_server_streams_open");
        open.increment(1);
        self.open_streams = Some(open);
    }

    pub(super) fn sent(&mut self, bytes: usize) {
        self.bytes = self
            .bytes
            .saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        gauge!("http_server_requests_in_flight").decrement(1);
        let status = self.status.map_or(CALLER_LEFT, |status| status.as_u16());
        match self.open_streams.take() {
            Some(open) => open.decrement(1),
            None => histogram!("http_server_request_seconds", "route" => self.route.clone())
                .record(self.started.elapsed()),
        }
        counter!(
            "http_server_requests_total",
            "route" => std::mem::take(&mut self.route),
            "method" => self.method,
            "status" => status.to_string()
        )
        .increment(1);
        self.span.record("http.response.status_code", status);
        self.span.record("http.response.body.size", self.bytes);
        if status >= StatusCode::INTERNAL_SERVER_ERROR.as_u16() {
            self.span.record("otel.status_code", "ERROR");
        }
    }
}

/// The method's name; callers may invent others, and must not invent metrics with them.
fn name_of(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "_OTHER",
    }
}
