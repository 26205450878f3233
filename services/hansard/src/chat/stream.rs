//! The stream of an answer. A lost connection is opened again after the last part that arrived, so no chunk is missing or repeated.

use std::collections::VecDeque;
use std::time::Duration;

use backoff::Backoff;
use models::{EventData, StreamEvent};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;
use tokio::time::timeout;

use super::gateway::{Gateway, GatewayError};

/// The longest time without a byte: the gateway sends comments more often.
const SILENCE_MAX: Duration = Duration::from_mins(1);
/// The waits before a stream is opened again, and how often that is tried without success: about 15 seconds in all.
const REOPEN_WAIT: Duration = Duration::from_millis(200);
const REOPEN_WAIT_MAX: Duration = Duration::from_secs(5);
const REOPEN_ATTEMPTS: usize = 7;
/// Most events of a part: a step has at most 128 calls.
const PART_EVENTS_MAX: usize = 1_024;
/// The data of the last event.
const DONE: &[u8] = b"[DONE]";

/// What comes next.
#[derive(Debug)]
pub(super) enum Next {
    /// A chunk.
    Chunk(Value),
    /// The connection is lost; the next call opens it again.
    Reconnecting,
    /// The stream has ended.
    Done,
    /// The rest is not streamed any more: the recorded messages have it.
    Gone,
}

/// The stream of an answer.
#[derive(Debug)]
pub(super) struct AnswerStream<'a> {
    gateway: &'a Gateway,
    /// The path of the run's stream.
    path: String,
    connection: Option<Connection>,
    parts: Parts,
    /// Chunks of the last complete part that were not returned.
    chunks: VecDeque<Value>,
    has_ended: bool,
    backoff: Backoff,
}

/// An open connection.
#[derive(Debug)]
struct Connection {
    response: Response,
    parser: EventData,
    received: VecDeque<StreamEvent>,
}

impl<'a> AnswerStream<'a> {
    /// The stream of the answer to a request; `None`: it has no run.
    pub(super) fn answering(gateway: &'a Gateway, conversation: &str, response: Response) -> Option<Self> {
        Self::of(gateway, conversation, response, Parts::default())
    }

    /// The stream of a run that has begun before; `None`: no run is active.
    pub(super) fn following(gateway: &'a Gateway, conversation: &str, response: Response) -> Option<Self> {
        let mut parts = Parts::default();
        parts.reopened();
        Self::of(gateway, conversation, response, parts)
    }

    fn of(gateway: &'a Gateway, conversation: &str, response: Response, parts: Parts) -> Option<Self> {
        let run = response.headers().get("x-run-id")?.to_str().ok()?;
        Some(Self {
            gateway,
            path: format!("/api/chats/{conversation}/stream?run={run}"),
            connection: Some(Connection::of(response)),
            parts,
            chunks: VecDeque::new(),
            has_ended: false,
            backoff: new_backoff(),
        })
    }

    /// # Errors
    /// The stream cannot be opened again.
    pub(super) async fn next(&mut self) -> Result<Next, GatewayError> {
        loop {
            if let Some(chunk) = self.chunks.pop_front() {
                self.has_ended |= is_end(&chunk);
                return Ok(Next::Chunk(chunk));
            }
            let Some(connection) = &mut self.connection else {
                if !self.reopen().await? {
                    return Ok(Next::Gone);
                }
                continue;
            };
            let event = connection.next().await.filter(|event| self.has_ended || !is_interruption(event));
            let Some(event) = event.filter(|event| event.data != DONE) else {
                if self.has_ended {
                    return Ok(Next::Done);
                }
                self.connection = None;
                return Ok(Next::Reconnecting);
            };
            if let Some(part) = self.parts.push(event) {
                self.backoff = new_backoff();
                // Events that are not JSON are of a later version.
                let chunks = part.iter().map(|event| serde_json::from_slice(&event.data));
                self.chunks.extend(chunks.filter_map(Result::ok));
            }
        }
    }

    /// Opens the stream again; `false`: it is not streamed any more.
    async fn reopen(&mut self) -> Result<bool, GatewayError> {
        let mut failure = GatewayError::Lost;
        while self.backoff.wait().await {
            match self.gateway.send(self.request()).await {
                Ok(response) if response.status().as_u16() == 204 => return Ok(false),
                Ok(response) => {
                    self.connection = Some(Connection::of(response));
                    self.parts.reopened();
                    return Ok(true);
                }
                Err(error) if is_final(&error) => return Err(error),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    fn request(&self) -> RequestBuilder {
        let request = self.gateway.request(Method::GET, &self.path);
        match &self.parts.last_id {
            Some(last) => request.header("last-event-id", last.as_slice()),
            None => request,
        }
    }
}

fn new_backoff() -> Backoff {
    Backoff::bounded(REOPEN_WAIT, REOPEN_WAIT_MAX, REOPEN_ATTEMPTS)
}

/// Whether trying again cannot help.
fn is_final(error: &GatewayError) -> bool {
    let GatewayError::Rejected { code, .. } = error else {
        return false;
    };
    code.starts_with("SESSION_") || code.ends_with("_NOT_FOUND") || code.starts_with("FIELD_")
}

/// Whether the chunk is the last that matters: it has the outcome of the run.
fn is_end(chunk: &Value) -> bool {
    chunk.pointer("/messageMetadata/outcome").is_some()
}

/// Whether the gateway ends the stream before the run ends: an error that is of no part.
fn is_interruption(event: &StreamEvent) -> bool {
    let chunk: Value = serde_json::from_slice(&event.data).unwrap_or_default();
    event.id.is_none() && chunk.get("type").and_then(Value::as_str) == Some("error")
}

impl Connection {
    fn of(response: Response) -> Self {
        Self { response, parser: EventData::default(), received: VecDeque::new() }
    }

    /// The next event; `None`: the connection has ended.
    async fn next(&mut self) -> Option<StreamEvent> {
        loop {
            if let Some(event) = self.received.pop_front() {
                return Some(event);
            }
            let chunk = timeout(SILENCE_MAX, self.response.chunk()).await.ok()?.ok()??;
            self.parser.push_events(&chunk, &mut self.received).ok()?;
        }
    }
}

/// Collects the events of each part.
///
/// The last event of a part has the part's id, after which the gateway resumes. An incomplete part is dropped with its connection, and
/// comes again whole. A stream that is opened without an id begins with earlier chunks of the message, which have no id either: they are
/// dropped.
#[derive(Debug, Default)]
struct Parts {
    /// The id of the last complete part.
    last_id: Option<Vec<u8>>,
    /// The events of the incomplete part.
    incomplete: Vec<StreamEvent>,
    /// Whether the events before the next id are dropped.
    drops_opening: bool,
}

impl Parts {
    /// Adds an event. Returns the events of the part that it completes.
    fn push(&mut self, event: StreamEvent) -> Option<Vec<StreamEvent>> {
        let id = event.id.clone();
        if id.is_some() || (!self.drops_opening && self.incomplete.len() < PART_EVENTS_MAX) {
            self.incomplete.push(event);
        }
        self.last_id = Some(id?);
        self.drops_opening = false;
        Some(std::mem::take(&mut self.incomplete))
    }

    /// The connection was opened again.
    fn reopened(&mut self) {
        self.incomplete.clear();
        self.drops_opening = self.last_id.is_none();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: Option<&str>, data: &str) -> StreamEvent {
        StreamEvent { id: id.map(|id| id.as_bytes().to_vec()), data: data.as_bytes().to_vec() }
    }

    #[test]
    fn nothing_is_missing_or_repeated_wherever_the_connection_is_cut() {
        let stream = [
            event(Some("r:1"), "a"),
            event(None, "b"),
            event(None, "c"),
            event(Some("r:2"), "d"),
            event(None, "e"),
            event(Some("r:3"), "f"),
        ];
        for cut in 1..=stream.len() {
            let mut parts = Parts::default();
            let push = |event: &StreamEvent, parts: &mut Parts| parts.push(event.clone());
            let before = stream.iter().take(cut);
            let mut received: Vec<_> = before.filter_map(|event| push(event, &mut parts)).collect();
            // The gateway ends an open text before it closes the connection.
            assert_eq!(parts.push(event(None, "text-end")), None);
            parts.reopened();
            let last = parts.last_id.clone();
            let rest = stream.iter().skip_while(|event| event.id != last).skip(1);
            received.extend(rest.filter_map(|event| push(event, &mut parts)));
            assert_eq!(received.concat(), stream, "{cut}");
        }
    }

    #[test]
    fn the_opening_is_used_once() {
        let mut parts = Parts::default();
        assert_eq!(parts.push(event(None, "start")), None);
        parts.reopened();
        assert_eq!(parts.push(event(None, "start")), None);
        let first = event(Some("r:1"), "a");
        assert_eq!(parts.push(first.clone()), Some(vec![first]));
        assert_eq!(parts.push(event(None, "b")), None);
        let second = event(Some("r:2"), "c");
        assert_eq!(parts.push(second.clone()), Some(vec![event(None, "b"), second]));
    }

    #[test]
    fn parts_have_a_bound() {
        let mut parts = Parts::default();
        for _ in 0..=PART_EVENTS_MAX {
            assert_eq!(parts.push(event(None, "a")), None);
        }
        let part = parts.push(event(Some("r:1"), "b")).unwrap();
        assert_eq!(part.len(), PART_EVENTS_MAX + 1);
    }

    #[test]
    fn errors_without_a_part_interrupt() {
        let check = |id: Option<&str>, data: &str, expected| {
            assert_eq!(is_interruption(&event(id, data)), expected);
        };
        check(None, r#"{"type":"error","errorText":"The connection was closed"}"#, true);
        check(Some("r:9"), r#"{"type":"error","errorText":"An error occurred."}"#, false);
        check(None, r#"{"type":"text-end"}"#, false);
    }
}
