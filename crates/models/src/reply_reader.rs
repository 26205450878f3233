//! Reads a reply from a server: bytes to texts, texts to deltas, within timeouts and size limits.

use std::collections::VecDeque;
use std::time::Duration;

use formats::{Delta, Names};
use reqwest::Response;
use tokio::time::{Instant, timeout_at};

use crate::breaker::{BreakerPermit, Outcome};
use crate::error::{ModelError, Step};
use crate::exchange::Attempt;
use crate::framing::{EVENT_BYTES_MAX, Framing};
use crate::piece::Piece;
use crate::provider::Provider;
use crate::reply_parser::ReplyParser;
use crate::request_metrics::size_bytes;

/// Maximum bytes of all deltas of a reply.
pub const REPLY_BYTES_MAX: usize = 8 * 1_024 * 1_024;
/// Maximum bytes of the stream of a reply, including the provider's framing.
pub const STREAM_BYTES_MAX: usize = 64 * 1_024 * 1_024;
/// The text that ends the stream of many servers.
const DONE: &[u8] = b"[DONE]";
/// How long to wait for the end of the response after [`DONE`], so that the connection can be reused.
const DONE_GRACE: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadlines {
    pub(crate) first_piece: Instant,
    /// Maximum time without any bytes after the first piece.
    pub(crate) silence_max: Duration,
    pub(crate) total: Instant,
}

#[derive(Debug)]
pub(crate) struct ReplyReader {
    response: Response,
    framing: Framing,
    parser: ReplyParser,
    provider: Provider,
    names: Names,
    deadlines: Deadlines,
    permit: Option<BreakerPermit>,
    attempt: Attempt,
    texts: VecDeque<Vec<u8>>,
    deltas: VecDeque<Delta>,
    /// The end of the stream, after the texts that are not parsed yet.
    ending: Option<Ending>,
    /// Since when bytes are awaited. Time that the caller spends between calls does not count as silence.
    waiting_since: Option<Instant>,
    has_started: bool,
    is_done: bool,
    stream_bytes: usize,
    reply_bytes: usize,
}

#[derive(Debug)]
enum Ending {
    /// The server ended it.
    Complete,
    /// The connection failed or timed out. The reply may still be complete: some servers do not end their streams.
    Cut(ModelError),
    Exceeded(ModelError),
}

impl ReplyReader {
    pub(crate) fn new(
        response: Response,
        provider: Provider,
        names: Names,
        deadlines: Deadlines,
        permit: BreakerPermit,
        attempt: Attempt,
    ) -> Self {
        Self {
            response,
            framing: provider.framing(),
            parser: provider.parser(),
            provider,
            names,
            deadlines,
            permit: Some(permit),
            attempt,
            texts: VecDeque::new(),
            deltas: VecDeque::new(),
            ending: None,
            waiting_since: None,
            has_started: false,
            is_done: false,
            stream_bytes: 0,
            reply_bytes: 0,
        }
    }

    /// The next piece. Call it until it returns no delta. Cancellation-safe.
    pub(crate) async fn next(&mut self) -> Result<Piece, ModelError> {
        let piece = self.read().await;
        self.has_started = true;
        self.attempt.record(&piece);
        let outcome = match &piece {
            Ok(Piece::Delta(_)) => {
                if let Some(permit) = &mut self.permit {
                    permit.record_answer();
                }
                return piece;
            }
            Ok(Piece::Finished(_)) => Some(Outcome::Success),
            Err(error) => outcome_of(error),
        };
        if let (Some(permit), Some(outcome)) = (self.permit.take(), outcome) {
            permit.record(outcome, std::time::Instant::now());
        }
        piece
    }

    async fn read(&mut self) -> Result<Piece, ModelError> {
        loop {
            if let Some(delta) = self.deltas.pop_front() {
                return Ok(Piece::Delta(delta));
            }
            if let Some(text) = self.texts.pop_front() {
                self.parse(&text)?;
            } else if let Some(ending) = self.ending.take() {
                return self.end(ending);
            } else {
                self.ending = self.receive().await;
            }
        }
    }

    /// Waits for more bytes. Returns the end of the stream if it is reached.
    async fn receive(&mut self) -> Option<Ending> {
        let (until, step) = self.deadline();
        let chunk = timeout_at(until, self.response.chunk()).await;
        self.waiting_since = None;
        match chunk {
            Ok(Ok(Some(bytes))) => self.split(&bytes),
            Ok(Ok(None)) => {
                self.texts.extend(self.framing.end());
                Some(Ending::Complete)
            }
            Ok(Err(_)) => Some(Ending::Cut(ModelError::Broken)),
            Err(_) if self.is_done => Some(Ending::Complete),
            Err(_) => Some(Ending::Cut(ModelError::TimedOut { which: step })),
        }
    }

    fn deadline(&mut self) -> (Instant, Step) {
        let since = *self.waiting_since.get_or_insert_with(Instant::now);
        let (until, step) = if self.is_done {
            (since + DONE_GRACE, Step::Silence)
        } else if self.has_started {
            (since + self.deadlines.silence_max, Step::Silence)
        } else {
            (self.deadlines.first_piece, Step::FirstPiece)
        };
        if self.deadlines.total < until {
            return (self.deadlines.total, Step::Total);
        }
        (until, step)
    }

    fn split(&mut self, bytes: &[u8]) -> Option<Ending> {
        let too_large = |bound, bytes_max| {
            let error = ModelError::TooLarge { bound, bytes_max };
            Some(Ending::Exceeded(error))
        };
        let room = STREAM_BYTES_MAX - self.stream_bytes;
        let accepted = bytes.get(..room).unwrap_or(bytes);
        self.stream_bytes += accepted.len();
        self.attempt.record_bytes(accepted.len());
        if self.framing.push(accepted, &mut self.texts).is_err() {
            return too_large("an event of its stream", EVENT_BYTES_MAX);
        }
        if accepted.len() < bytes.len() {
            return too_large("its stream", STREAM_BYTES_MAX);
        }
        None
    }

    fn parse(&mut self, text: &[u8]) -> Result<(), ModelError> {
        self.is_done |= text == DONE;
        let mut deltas = self.parser.push(text)?;
        self.reply_bytes += deltas.iter().map(size_bytes).sum::<usize>();
        if self.reply_bytes > REPLY_BYTES_MAX {
            return Err(ModelError::TooLarge { bound: "its deltas", bytes_max: REPLY_BYTES_MAX });
        }
        for delta in &mut deltas {
            restore(delta, &self.names);
        }
        self.deltas.extend(deltas);
        Ok(())
    }

    fn end(&mut self, ending: Ending) -> Result<Piece, ModelError> {
        let cause = match ending {
            Ending::Complete => None,
            Ending::Cut(error) => Some(error),
            Ending::Exceeded(error) => return Err(error),
        };
        let parser = std::mem::replace(&mut self.parser, self.provider.parser());
        let mut reply = parser.finish().map_err(|error| cause.unwrap_or(error))?;
        self.names.restore(&mut reply.facts);
        Ok(Piece::Finished(reply))
    }
}

/// The outcome that an error is for the breaker; `None` if it does not depend on the server.
pub(crate) fn outcome_of(error: &ModelError) -> Option<Outcome> {
    match error {
        ModelError::Unavailable { .. }
        | ModelError::TimedOut { .. }
        | ModelError::Broken
        | ModelError::Failed { .. } => Some(Outcome::Failure),
        ModelError::Refused { .. } => Some(Outcome::Success),
        ModelError::UnknownServer
        | ModelError::Unusable { .. }
        | ModelError::BreakerOpen { .. }
        | ModelError::Overloaded { .. }
        | ModelError::TooLarge { .. } => None,
    }
}

/// Restores the recorded id of a call and the recorded name of its tool.
fn restore(delta: &mut Delta, names: &Names) {
    let Delta::CallBegan { call_id, tool_name, .. } = delta else {
        return;
    };
    if let Some((_, recorded)) = names.calls().find(|(written, _)| written == call_id) {
        recorded.clone_into(call_id);
    }
    if let Some((_, recorded)) = names.tools().find(|(written, _)| written == tool_name) {
        recorded.clone_into(tool_name);
    }
}
