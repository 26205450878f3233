//! Telemetry of a call: its span, and its metrics when it ends.

use std::sync::Arc;
use std::time::Instant;

use http::HeaderMap;
use tonic::Code;
use tracing::{Span, field};

use super::deadline::Deadline;
use super::method::{Kind, Method};
use super::rules::TrustedCallers;
use crate::telemetry;

const STATUS_HEADER: &str = "grpc-status";

/// The telemetry of one call from its headers to its end. The end is counted exactly once.
#[derive(Debug)]
pub(super) struct Observation {
    pub(super) method: Arc<Method>,
    pub(super) span: Span,
    started: Instant,
    /// A call that is dropped after it is counted as late, not as cancelled.
    pub(super) deadline: Option<Deadline>,
    ended: bool,
}

impl Observation {
    pub(super) fn start(method: &Arc<Method>, headers: &HeaderMap, trusted: &TrustedCallers) -> Self {
        let span = tracing::debug_span!(
            "grpc.call.serve",
            otel.name = method.span_name,
            otel.kind = "server",
            rpc.system = "grpc",
            rpc.service = method.service,
            rpc.method = method.name,
            rpc.grpc.status_code = field::Empty,
            otel.status_code = field::Empty,
        );
        telemetry::extract(&span, trusted.caller(&span, headers), |name| {
            headers.get(name).and_then(|value| value.to_str().ok())
        });
        method.in_flight.increment(1);
        Self { method: Arc::clone(method), span, started: Instant::now(), deadline: None, ended: false }
    }

    /// Records the end of the call; later calls have no effect.
    pub(super) fn end(&mut self, code: Code) {
        if self.ended {
            return;
        }
        self.ended = true;
        self.method.in_flight.decrement(1);
        self.method.count(code);
        // The caller decides how long a stream lasts: its duration is not a latency.
        if self.method.kind == Kind::Unary {
            self.method.seconds.record(self.started.elapsed());
        }
        if !self.span.is_disabled() {
            self.span.record("rpc.grpc.status_code", i32::from(code));
            if is_server_fault(code) {
                self.span.record("otel.status_code", "ERROR");
            }
        }
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        let code = if std::thread::panicking() {
            Code::Internal
        } else if self.deadline.is_some_and(|deadline| deadline.remaining().is_zero()) {
            Code::DeadlineExceeded
        } else {
            Code::Cancelled
        };
        self.end(code);
    }
}

/// The status in `headers` or trailers.
pub(super) fn status_of(headers: &HeaderMap) -> Option<Code> {
    headers.get(STATUS_HEADER).map(|value| Code::from_bytes(value.as_bytes()))
}

/// The codes that OpenTelemetry counts as server errors.
/// Source: <https://opentelemetry.io/docs/specs/semconv/rpc/grpc/>.
const fn is_server_fault(code: Code) -> bool {
    matches!(
        code,
        Code::Unknown
            | Code::DeadlineExceeded
            | Code::Unimplemented
            | Code::Internal
            | Code::Unavailable
            | Code::DataLoss
    )
}
