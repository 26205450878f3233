//! Metrics and spans of requests: counts, times and sizes; never contents.

use std::time::Instant;

use formats::Delta;
use metrics::{counter, histogram};
use tracing::Span;

use crate::error::ModelError;
use crate::piece::Piece;

pub(crate) fn count_retry(server: &str) {
    counter!("hansard_models_retries_total", "server" => server.to_owned()).increment(1);
}

/// The metrics and the span of one request. They are written once, at its end.
#[derive(Debug)]
pub(crate) struct RequestMetrics {
    server: String,
    span: Span,
    started_at: Instant,
    has_first: bool,
    pieces: u64,
    bytes: usize,
    is_written: bool,
}

impl RequestMetrics {
    pub(crate) fn begin(server: &str, request_bytes: usize) -> Self {
        let span = tracing::info_span!(
            "model.reply.stream",
            model.server = server,
            request.bytes = request_bytes,
            response.status = tracing::field::Empty,
            reply.pieces = tracing::field::Empty,
            reply.bytes = tracing::field::Empty,
            reply.outcome = tracing::field::Empty,
        );
        Self {
            server: server.to_owned(),
            span,
            started_at: Instant::now(),
            has_first: false,
            pieces: 0,
            bytes: 0,
            is_written: false,
        }
    }

    pub(crate) fn span(&self) -> &Span {
        &self.span
    }

    /// Records the time to the first piece, once.
    pub(crate) fn record_first(&mut self) {
        if std::mem::replace(&mut self.has_first, true) {
            return;
        }
        let seconds = self.started_at.elapsed().as_secs_f64();
        let server = self.server.clone();
        histogram!("hansard_models_first_piece_seconds", "server" => server).record(seconds);
    }

    /// Records a piece that the caller gets, or an error.
    pub(crate) fn record(&mut self, piece: &Result<Piece, ModelError>) {
        match piece {
            Ok(piece) => {
                self.record_first();
                self.pieces += 1;
                match piece {
                    Piece::Delta(delta) => self.bytes += size_bytes(delta),
                    Piece::Finished(_) => self.write("finished"),
                }
            }
            Err(error) => self.write(error.code()),
        }
    }

    fn write(&mut self, outcome: &'static str) {
        if std::mem::replace(&mut self.is_written, true) {
            return;
        }
        let server = self.server.clone();
        counter!("hansard_models_requests_total", "server" => server, "outcome" => outcome).increment(1);
        self.span.record("reply.pieces", self.pieces);
        self.span.record("reply.bytes", self.bytes);
        self.span.record("reply.outcome", outcome);
    }
}

impl Drop for RequestMetrics {
    fn drop(&mut self) {
        self.write("dropped");
    }
}

/// The bytes that a delta adds.
pub(crate) fn size_bytes(delta: &Delta) -> usize {
    match delta {
        Delta::Text(text) | Delta::Thinking(text) | Delta::Refusal(text) => text.len(),
        Delta::CallBegan { call_id, tool_name, .. } => call_id.len() + tool_name.len(),
        Delta::CallInput { fragment, .. } => fragment.len(),
    }
}
