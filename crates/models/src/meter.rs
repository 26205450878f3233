//! What is told of replies: counts, times and sizes; never contents.

use std::time::Instant;

use formats::Delta;
use metrics::{counter, histogram};
use tracing::Span;

use crate::error::ModelError;
use crate::piece::Piece;

/// A request that another attempt is made for.
pub(crate) fn retried(server: &str) {
    counter!("hansard_models_retries_total", "server" => server.to_owned()).increment(1);
}

/// Watches one request from its beginning to its end, and tells of it once.
#[derive(Debug)]
pub(crate) struct Watch {
    server: String,
    span: Span,
    began_at: Instant,
    has_first: bool,
    pieces: u64,
    bytes: usize,
    is_settled: bool,
}

impl Watch {
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
            began_at: Instant::now(),
            has_first: false,
            pieces: 0,
            bytes: 0,
            is_settled: false,
        }
    }

    pub(crate) fn span(&self) -> &Span {
        &self.span
    }

    /// The first piece has come; told once.
    pub(crate) fn note_first(&mut self) {
        if std::mem::replace(&mut self.has_first, true) {
            return;
        }
        let seconds = self.began_at.elapsed().as_secs_f64();
        let server = self.server.clone();
        histogram!("hansard_models_first_piece_seconds", "server" => server).record(seconds);
    }

    /// A piece that the caller gets, or why there is none.
    pub(crate) fn note(&mut self, piece: &Result<Piece, ModelError>) {
        match piece {
            Ok(piece) => {
                self.note_first();
                self.pieces += 1;
                match piece {
                    Piece::Delta(delta) => self.bytes += size_bytes(delta),
                    Piece::Finished(_) => self.settle("finished"),
                }
            }
            Err(error) => self.settle(error.code()),
        }
    }

    fn settle(&mut self, outcome: &'static str) {
        if std::mem::replace(&mut self.is_settled, true) {
            return;
        }
        let server = self.server.clone();
        counter!("hansard_models_requests_total", "server" => server, "outcome" => outcome)
            .increment(1);
        self.span.record("reply.pieces", self.pieces);
        self.span.record("reply.bytes", self.bytes);
        self.span.record("reply.outcome", outcome);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.settle("dropped");
    }
}

/// Bytes of what a delta adds.
pub(crate) fn size_bytes(delta: &Delta) -> usize {
    match delta {
        Delta::Text(text) | Delta::Thinking(text) | Delta::Refusal(text) => text.len(),
        Delta::CallBegan {
            call_id, tool_name, ..
        } => call_id.len() + tool_name.len(),
        Delta::CallInput { fragment, .. } => fragment.len(),
    }
}
