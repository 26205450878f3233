//! Reads a reply from a server: bytes to texts, texts to deltas, each within its time and size.

use std::collections::VecDeque;
use std::time::Duration;

use formats::{Delta, Names};
use reqwest::Response;
use tokio::time::{Instant, timeout_at};

use crate::breaker::{Outcome, Passage};
use crate::error::{ModelError, Step};
use crate::exchange::Attempt;
use crate::framing::{EVENT_BYTES_MAX, Framing};
use crate::gathering::Gathering;
use crate::meter::size_bytes;
use crate::piece::Piece;
use crate::provider::Provider;

/// Most bytes that a reply's deltas add up to.
pub const REPLY_BYTES_MAX: usize = 8 * 1_024 * 1_024;
/// Most bytes of a reply's stream, with all that its provider wraps around the deltas.
pub const STREAM_BYTES_MAX: usize = 64 * 1_024 * 1_024;
/// What ends the stream of many servers.
const DONE: &[u8] = b"[DONE]";
/// How long the connection's own end is waited for after [`DONE`], so that the connection can be used again.
const DONE_GRACE: Duration = Duration::from_millis(200);

/// How long a reply may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// Until when the first piece must have come.
    pub(crate) first_piece_until: Instant,
    /// The longest silence after it.
    pub(crate) silence_max: Duration,
    /// Until when all must have come.
    pub(crate) total_until: Instant,
}

/// A reply that is read from a server.
#[derive(Debug)]
pub(crate) struct Reading {
    response: Response,
    framing: Framing,
    gathering: Gathering,
    provider: Provider,
    names: Names,
    times: Times,
    passage: Option<Passage>,
    attempt: Attempt,
    texts: VecDeque<Vec<u8>>,
    deltas: VecDeque<Delta>,
    /// What ends the reply once the texts before it are read.
    ending: Option<Ending>,
    /// Since when bytes are waited for; a caller that takes its time does not count as silence.
    waiting_since: Option<Instant>,
    has_begun: bool,
    is_done: bool,
    stream_bytes: usize,
    reply_bytes: usize,
}

/// How a stream ends.
#[derive(Debug)]
enum Ending {
    /// By itself.
    Whole,
    /// The reply may be whole all the same: some servers leave the connection open, or break it off, after its end.
    Cut(ModelError),
    /// By a bound.
    Refused(ModelError),
}

impl Reading {
    pub(crate) fn new(
        response: Response,
        provider: Provider,
        names: Names,
        times: Times,
        passage: Passage,
        attempt: Attempt,
    ) -> Self {
        Self {
            response,
            framing: provider.framing(),
            gathering: provider.gathering(),
            provider,
            names,
            times,
            passage: Some(passage),
            attempt,
            texts: VecDeque::new(),
            deltas: VecDeque::new(),
            ending: None,
            waiting_since: None,
            has_begun: false,
            is_done: false,
            stream_bytes: 0,
            reply_bytes: 0,
        }
    }

    /// The next piece. To be called until it gives no more deltas; nothing is lost when the future is dropped.
    pub(crate) async fn next(&mut self) -> Result<Piece, ModelError> {
        let piece = self.read().await;
        self.has_begun = true;
        self.attempt.note(&piece);
        let outcome = match &piece {
            Ok(Piece::Delta(_)) => {
                if let Some(passage) = &mut self.passage {
                    passage.answered();
                }
                return piece;
            }
            Ok(Piece::Finished(_)) => Some(Outcome::Success),
            Err(error) => outcome_of(error),
        };
        if let (Some(passage), Some(outcome)) = (self.passage.take(), outcome) {
            passage.settle(outcome, std::time::Instant::now());
        }
        piece
    }

    async fn read(&mut self) -> Result<Piece, ModelError> {
        loop {
            if let Some(delta) = self.deltas.pop_front() {
                return Ok(Piece::Delta(delta));
            }
            if let Some(text) = self.texts.pop_front() {
                self.take_text(&text)?;
            } else if let Some(ending) = self.ending.take() {
                return self.end(ending);
            } else {
                self.ending = self.fill().await;
            }
        }
    }

    /// Waits for more bytes; tells where there are none.
    async fn fill(&mut self) -> Option<Ending> {
        let (until, step) = self.wait_until();
        let chunk = timeout_at(until, self.response.chunk()).await;
        self.waiting_since = None;
        match chunk {
            Ok(Ok(Some(bytes))) => self.take_bytes(&bytes),
            Ok(Ok(None)) => {
                self.texts.extend(self.framing.end());
                Some(Ending::Whole)
            }
            Ok(Err(_)) => Some(Ending::Cut(ModelError::Broken)),
            Err(_) if self.is_done => Some(Ending::Whole),
            Err(_) => Some(Ending::Cut(ModelError::TimedOut { which: step })),
        }
    }

    fn wait_until(&mut self) -> (Instant, Step) {
        let since = *self.waiting_since.get_or_insert_with(Instant::now);
        let (until, step) = if self.is_done {
            (since + DONE_GRACE, Step::Silence)
        } else if self.has_begun {
            (since + self.times.silence_max, Step::Silence)
        } else {
            (self.times.first_piece_until, Step::FirstPiece)
        };
        if self.times.total_until < until {
            return (self.times.total_until, Step::Total);
        }
        (until, step)
    }

    fn take_bytes(&mut self, bytes: &[u8]) -> Option<Ending> {
        let too_large = |bound, bytes_max| {
            let error = ModelError::TooLarge { bound, bytes_max };
            Some(Ending::Refused(error))
        };
        let room = STREAM_BYTES_MAX - self.stream_bytes;
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.stream_bytes += taken.len();
        self.attempt.received(taken.len());
        if self.framing.push(taken, &mut self.texts).is_err() {
            return too_large("an event of its stream", EVENT_BYTES_MAX);
        }
        if taken.len() < bytes.len() {
            return too_large("its stream", STREAM_BYTES_MAX);
        }
        None
    }

    fn take_text(&mut self, text: &[u8]) -> Result<(), ModelError> {
        self.is_done |= text == DONE;
        let mut deltas = self.gathering.push(text)?;
        self.reply_bytes += deltas.iter().map(size_bytes).sum::<usize>();
        if self.reply_bytes > REPLY_BYTES_MAX {
            return Err(ModelError::TooLarge {
                bound: "its deltas",
                bytes_max: REPLY_BYTES_MAX,
            });
        }
        for delta in &mut deltas {
            restore(delta, &self.names);
        }
        self.deltas.extend(deltas);
        Ok(())
    }

    fn end(&mut self, ending: Ending) -> Result<Piece, ModelError> {
        let fault = match ending {
            Ending::Whole => None,
            Ending::Cut(error) => Some(error),
            Ending::Refused(error) => return Err(error),
        };
        let gathering = std::mem::replace(&mut self.gathering, self.provider.gathering());
        let reply = gathering.finish();
        let mut reply = reply.map_err(|error| fault.unwrap_or(error))?;
        self.names.restore(&mut reply.facts);
        Ok(Piece::Finished(reply))
    }
}

/// What a failure says of its server; none: nothing.
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

/// Writes a call's id and its tool's name as the record has them.
fn restore(delta: &mut Delta, names: &Names) {
    let Delta::CallBegan {
        call_id, tool_name, ..
    } = delta
    else {
        return;
    };
    if let Some((_, recorded)) = names.calls().find(|(written, _)| written == call_id) {
        recorded.clone_into(call_id);
    }
    if let Some((_, recorded)) = names.tools().find(|(written, _)| written == tool_name) {
        recorded.clone_into(tool_name);
    }
}
