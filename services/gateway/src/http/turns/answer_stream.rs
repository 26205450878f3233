//! Streams the parts of a run to one client, as server-sent events of the AI SDK's UI message stream.
//!
//! A run continues without its client. Every stream ends with `[DONE]`: after the run's end, or early with an error;
//! then the client can resume with the id of the last event. After the run's end, `[DONE]` waits at most two seconds
//! for the commit that finishes the run, so that the client can read what it has received.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use bytes::Bytes;
use domain::{RunEnd, RunId, RunOutcome, RunPart, RunPartKind};
use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::{BoxStream, unfold};
use runs::sse::{DONE, KEEP_ALIVE, PROTOCOL_HEADER, PartId, frames};
use runs::{Disclosure, UiChunk, UiStream};
use runtime::http::{DrainSignal, StreamSlot};
use tokio::time::sleep;
use utoipa::ToSchema;

use crate::http::sse;
use conversations::generation::FollowItem;

/// A keep-alive is sent after this time without an event.
pub const HEARTBEAT: Duration = Duration::from_secs(15);
/// The header with the run's id.
pub const RUN_HEADER: HeaderName = HeaderName::from_static("x-run-id");

/// The error text if this gateway shuts down before the end of the run.
const DRAINING: &str = "The connection was closed by the server. Please reconnect.";
/// The error text if the run's parts are not stored any more.
const GONE: &str = "The answer is not streamed any more. Please load the messages.";
/// The error text if a recorded document cannot be serialized.
const BROKEN: &str = "An error occurred.";

/// One server-sent event of an answer.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes what `runs` writes")]
pub struct StreamedEvent {
    /// A chunk of the AI SDK's UI message stream, version 1, as JSON text; `[DONE]` is the last.
    #[schema(example = r#"{"type":"text-delta","id":"p1","delta":"Hello"}"#)]
    data: String,
    /// The id of the run and the number of its part that is complete with this event, as `<run>:<part>`; the value of
    /// `Last-Event-ID`.
    #[schema(example = "019b2f4e-6a7c-7d21-9a53-0d0c5b7e1f42:7")]
    id: Option<String>,
}

/// The stream of one client.
pub(in crate::http) struct AnswerStream {
    /// The run; `None`: the turn is not stored.
    pub(in crate::http) run: Option<RunId>,
    /// The parts of the run, from the first.
    pub(in crate::http) parts: BoxStream<'static, FollowItem>,
    /// Completes when the run is finished; then `[DONE]` is sent.
    pub(in crate::http) finished: BoxFuture<'static, ()>,
    /// What the client gets of tool calls.
    pub(in crate::http) disclosure: Disclosure,
    /// Converts parts to chunks.
    pub(in crate::http) ui: UiStream,
    pub(in crate::http) opening: Vec<UiChunk>,
    /// The client has the parts up to this number; they are not sent again.
    pub(in crate::http) after: u64,
}

impl AnswerStream {
    /// The response: a stream, which holds its slot until it ends.
    pub(in crate::http) fn respond(self, open: StreamSlot) -> Response {
        let run = self.run.map(|run| run.to_string());
        let frames = Frames { draining: open.drain(), answer: self, last: 0, is_over: false };
        let texts = unfold(frames, async |mut frames| {
            let text = frames.next().await?;
            Some((Ok::<_, Infallible>(Bytes::from(text)), frames))
        });
        let mut response = sse::response(Body::from_stream(texts));
        let headers = response.headers_mut();
        let (protocol, version) = PROTOCOL_HEADER;
        headers.insert(HeaderName::from_static(protocol), HeaderValue::from_static(version));
        if let Some(run) = run.and_then(|run| HeaderValue::try_from(run).ok()) {
            headers.insert(RUN_HEADER, run);
        }
        open.respond(response)
    }
}

struct Frames {
    answer: AnswerStream,
    /// The number of the last part that was received.
    last: u64,
    draining: DrainSignal,
    is_over: bool,
}

impl Frames {
    /// The next text; `None`: the stream has ended.
    async fn next(&mut self) -> Option<String> {
        let opening = std::mem::take(&mut self.answer.opening);
        if !opening.is_empty() {
            return Some(self.text_of(None, &opening));
        }
        if self.is_over {
            return None;
        }
        if self.answer.ui.is_over() {
            return self.done().await;
        }
        loop {
            tokio::select! {
                biased;
                () = self.draining.begun() => return Some(self.interrupted(DRAINING)),
                followed = self.answer.parts.next() => match followed {
                    Some(FollowItem::Part(part)) => {
                        if let Some(text) = self.part(part) {
                            return Some(text);
                        }
                        if self.answer.ui.is_over() {
                            return self.done().await;
                        }
                    }
                    Some(FollowItem::Gone) | None => return Some(self.interrupted(GONE)),
                },
                () = sleep(HEARTBEAT) => return Some(KEEP_ALIVE.to_owned()),
            }
        }
    }

    fn part(&mut self, part: RunPart) -> Option<String> {
        let part = self.answer.disclosure.part(part);
        let chunks = self.answer.ui.push(&part);
        self.last = part.number;
        let is_received = part.number <= self.answer.after;
        (!is_received).then(|| self.text_of(Some(part.number), &chunks))
    }

    /// The last text, sent when the run is finished.
    async fn done(&mut self) -> Option<String> {
        self.is_over = true;
        (&mut self.answer.finished).await;
        Some(DONE.to_owned())
    }

    fn text_of(&mut self, part: Option<u64>, chunks: &[UiChunk]) -> String {
        let id = part.zip(self.answer.run).map(|(part, run)| PartId { run, part });
        frames(id, chunks).unwrap_or_else(|_| {
            tracing::error!("a recorded document of a run is not JSON");
            self.is_over = true;
            format!("{}{DONE}", error(BROKEN))
        })
    }

    /// Ends open chunks, as the AI SDK requires, and adds an error. These events have no id, because no part contains
    /// them.
    fn interrupted(&mut self, reason: &str) -> String {
        self.is_over = true;
        let end = RunEnd { outcome: RunOutcome::Failed, error: None };
        let part = RunPart { number: self.last.saturating_add(1), kind: RunPartKind::RunEnded(end) };
        let mut chunks = self.answer.ui.push(&part);
        // The run has no outcome yet.
        chunks.retain(|chunk| !matches!(chunk, UiChunk::MessageMetadata { .. } | UiChunk::Error { .. }));
        let ended = if chunks.is_empty() { String::new() } else { frames(None, &chunks).unwrap_or_default() };
        format!("{ended}{}{DONE}", error(reason))
    }
}

fn error(text: &str) -> String {
    let chunk = UiChunk::Error { error_text: text.to_owned() };
    frames(None, &[chunk]).unwrap_or_default()
}
