//! One client that listens to a run: its parts as server-sent events, in the AI SDK's UI message stream.
//!
//! Who stops listening stops nothing. Every stream ends with `[DONE]`: after the run's end, or early with an error that says
//! why, after which the client may come back with the last event's id. After a run's end `[DONE]` waits for the commit that
//! finishes the run, for at most two seconds: a client that has heard it reads what it heard.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use domain::{RunEnd, RunId, RunOutcome, RunPart, RunPartKind};
use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::{BoxStream, unfold};
use runs::sse::{DONE, KEEP_ALIVE, PROTOCOL_HEADER, PartId, frames};
use runs::{UiChunk, UiStream};
use runtime::http::{Draining, OpenStream};
use tokio::time::sleep;
use utoipa::ToSchema;

use crate::generation::Followed;

/// After how long a silence a client is told that the connection lives.
pub const HEARTBEAT: Duration = Duration::from_secs(15);
/// The header that names the run.
pub const RUN_HEADER: HeaderName = HeaderName::from_static("x-run-id");

/// What is said where this gateway ends before the run does.
const DRAINING: &str = "The connection was closed by the server. Please reconnect.";
/// What is said of a run whose parts are not kept any more.
const GONE: &str = "The answer is not streamed any more. Please load the messages.";
/// What is said of a recorded document that cannot be written.
const BROKEN: &str = "An error occurred.";

/// One server-sent event of an answer.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes what `runs` writes")]
pub struct StreamedEvent {
    /// A chunk of the AI SDK's UI message stream, version 1, as JSON text; `[DONE]` is the last.
    #[schema(example = r#"{"type":"text-delta","id":"p1","delta":"Hello"}"#)]
    data: String,
    /// The run and the number of the part that is heard whole with this event, as `<run>:<part>`: what `Last-Event-ID` takes.
    #[schema(example = "019b2f4e-6a7c-7d21-9a53-0d0c5b7e1f42:7")]
    id: Option<String>,
}

/// What one client hears.
pub(super) struct Listener {
    /// The run; none of a turn that nobody keeps.
    pub(super) run: Option<RunId>,
    /// The run's parts, from the first.
    pub(super) parts: BoxStream<'static, Followed>,
    /// Is ready once the run is finished; nothing follows but `[DONE]`.
    pub(super) finished: BoxFuture<'static, ()>,
    /// What they say.
    pub(super) ui: UiStream,
    /// What is said first.
    pub(super) opening: Vec<UiChunk>,
    /// The client has heard the parts up to this number, and hears them not again.
    pub(super) after: u64,
}

impl Listener {
    /// The answer: a stream, which holds its place until it ends.
    pub(super) fn respond(self, open: OpenStream) -> Response {
        let run = self.run.map(|run| run.to_string());
        let telling = Telling {
            run: self.run,
            opening: (!self.opening.is_empty()).then_some(self.opening),
            parts: self.parts,
            finished: Some(self.finished),
            ui: self.ui,
            after: self.after,
            last: 0,
            draining: open.draining(),
            is_over: false,
        };
        let told = unfold(telling, async |mut telling| {
            let told = telling.next().await?;
            Some((Ok::<_, Infallible>(Bytes::from(told)), telling))
        });
        let mut response = Response::new(Body::from_stream(told));
        let headers = response.headers_mut();
        let (protocol, version) = PROTOCOL_HEADER;
        for (name, value) in [
            (header::CONTENT_TYPE, "text/event-stream"),
            (header::CACHE_CONTROL, "no-cache, no-store"),
            (HeaderName::from_static(protocol), version),
            (HeaderName::from_static("x-accel-buffering"), "no"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        if let Some(run) = run.and_then(|run| HeaderValue::try_from(run).ok()) {
            headers.insert(RUN_HEADER, run);
        }
        open.respond(response)
    }
}

struct Telling {
    run: Option<RunId>,
    opening: Option<Vec<UiChunk>>,
    parts: BoxStream<'static, Followed>,
    finished: Option<BoxFuture<'static, ()>>,
    ui: UiStream,
    after: u64,
    /// The number of the last part that came.
    last: u64,
    draining: Draining,
    is_over: bool,
}

impl Telling {
    /// What is sent next; `None`: all was.
    async fn next(&mut self) -> Option<String> {
        if let Some(opening) = self.opening.take() {
            return Some(self.written(None, &opening));
        }
        if self.is_over {
            return None;
        }
        if self.ui.is_over() {
            return self.done().await;
        }
        loop {
            tokio::select! {
                biased;
                () = self.draining.begun() => return Some(self.broken_off(DRAINING)),
                followed = self.parts.next() => match followed {
                    Some(Followed::Part(part)) => {
                        if let Some(told) = self.part(&part) {
                            return Some(told);
                        }
                        if self.ui.is_over() {
                            return self.done().await;
                        }
                    }
                    Some(Followed::Gone) | None => return Some(self.broken_off(GONE)),
                },
                () = sleep(HEARTBEAT) => return Some(KEEP_ALIVE.to_owned()),
            }
        }
    }

    fn part(&mut self, part: &RunPart) -> Option<String> {
        let chunks = self.ui.push(part);
        self.last = part.number;
        let is_heard = part.number <= self.after;
        (!is_heard).then(|| self.written(Some(part.number), &chunks))
    }

    /// The last that is sent, once the run is finished.
    async fn done(&mut self) -> Option<String> {
        self.is_over = true;
        if let Some(finished) = self.finished.take() {
            finished.await;
        }
        Some(DONE.to_owned())
    }

    fn written(&mut self, part: Option<u64>, chunks: &[UiChunk]) -> String {
        let id = part.zip(self.run).map(|(part, run)| PartId { run, part });
        frames(id, chunks).unwrap_or_else(|_| {
            tracing::error!("a recorded document of a run is not JSON");
            self.is_over = true;
            format!("{}{DONE}", error(BROKEN))
        })
    }

    /// What is open is ended, as the client's rules ask, and an error says why; no event id, since no part said it.
    fn broken_off(&mut self, why: &str) -> String {
        self.is_over = true;
        let end = RunEnd {
            outcome: RunOutcome::Failed,
            error: None,
        };
        let part = RunPart {
            number: self.last.saturating_add(1),
            kind: RunPartKind::RunEnded(end),
        };
        let mut chunks = self.ui.push(&part);
        // The run has no outcome yet that the page could keep.
        chunks.retain(|chunk| {
            !matches!(
                chunk,
                UiChunk::MessageMetadata { .. } | UiChunk::Error { .. }
            )
        });
        let ended = if chunks.is_empty() {
            String::new()
        } else {
            frames(None, &chunks).unwrap_or_default()
        };
        format!("{ended}{}{DONE}", error(why))
    }
}

fn error(text: &str) -> String {
    let chunk = UiChunk::Error {
        error_text: text.to_owned(),
    };
    frames(None, &[chunk]).unwrap_or_default()
}
