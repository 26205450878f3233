//! Telemetry of a request: its span, and its metrics when it ends.

use std::time::Instant;

use axum::extract::MatchedPath;
use axum::extract::Request;
use http::{Method, StatusCode};
use metrics::{Gauge, counter, gauge, histogram};
use tower_http::request_id::RequestId;
use tracing::{Span, field};

use super::problem::HttpProblem;
use crate::telemetry::{self, Caller};

/// The route of unknown paths in traces and metrics.
const UNMATCHED: &str = "unmatched";

/// The status in metrics when the client closes the request before the response. It is not an official status.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// The telemetry of one request from its headers to the end of its response. The end is counted exactly once.
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

pub(super) fn span(request: &Request, caller: Caller) -> Span {
    let id = request.extensions().get::<RequestId>().and_then(|id| id.header_value().to_str().ok());
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
    telemetry::extract(&span, caller, |name| {
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
    /// Starts in the span of the request.
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

    pub(super) fn response_started(&mut self, status: StatusCode, problem: Option<&HttpProblem>) {
        self.status = Some(status);
        if let Some(problem) = problem {
            self.span.record("problem.code", problem.code.as_ref());
        }
    }

    /// Counts an open stream. The client decides how long it lasts: its duration is not a latency.
    pub(super) fn stream_started(&mut self) {
        let open = gauge!("http_server_streams_open");
        open.increment(1);
        self.open_streams = Some(open);
    }

    pub(super) fn sent(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        gauge!("http_server_requests_in_flight").decrement(1);
        let status = self.status.map_or(CLIENT_CLOSED_REQUEST, |status| status.as_u16());
        match self.open_streams.take() {
            Some(open) => open.decrement(1),
            None => {
                histogram!("http_server_request_seconds", "route" => self.route.clone()).record(self.started.elapsed());
            }
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

/// The method as a label. Unknown methods share one label, so that callers cannot create metrics.
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
