//! Answers for pages: server-sent events of the AI SDK's UI message stream.
//!
//! Every stream ends with `[DONE]`: after the run's end, or early with an error; then the client can resume with the id of the
//! last event. `[DONE]` follows the commit that finishes the run, so that the client can read what it has received.

use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use conversations::answer::{Answer, Encoder, Unreadable};
use domain::{RunEnd, RunId, RunOutcome, RunPart, RunPartKind};
use runs::sse::{DONE, PROTOCOL_HEADER, PartId, frames};
use runs::{Disclosure, Interruption, Outcome, RunFold, UiChunk, UiStream};
use runtime::http::StreamSlot;
use utoipa::ToSchema;

use super::delivery;

/// The header with the run's id.
pub const RUN_HEADER: HeaderName = HeaderName::from_static("x-run-id");

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

/// How one client gets an answer.
pub(in crate::http) struct UiAnswer {
    /// What the client gets of tool calls.
    pub(in crate::http) disclosure: Disclosure,
    /// Converts parts to chunks.
    pub(in crate::http) ui: UiStream,
    pub(in crate::http) opening: Vec<UiChunk>,
    /// The client has the parts up to this number; they are not sent again.
    pub(in crate::http) after: u64,
}

impl UiAnswer {
    /// All of an answer, for a page that shows all earlier messages.
    pub(in crate::http) fn whole(ui: UiStream, disclosure: Disclosure) -> Self {
        Self { disclosure, opening: vec![ui.start_chunk()], ui, after: 0 }
    }

    /// The response: a stream, which holds its slot until it ends.
    pub(in crate::http) fn respond(self, answer: Answer, open: StreamSlot) -> Response {
        let run = answer.recorded_in().map(|(_, run)| *run);
        let mut response = delivery::stream(answer, UiEncoder { run, answer: self, last: 0 }, open);
        let headers = response.headers_mut();
        let (protocol, version) = PROTOCOL_HEADER;
        headers.insert(HeaderName::from_static(protocol), HeaderValue::from_static(version));
        if let Some(run) = run.and_then(|run| HeaderValue::try_from(run.to_string()).ok()) {
            headers.insert(RUN_HEADER, run);
        }
        response
    }
}

struct UiEncoder {
    /// The run; `None`: the turn is not stored, and its events have no ids.
    run: Option<RunId>,
    answer: UiAnswer,
    /// The number of the last part that was received.
    last: u64,
}

impl Encoder for UiEncoder {
    fn opening(&mut self) -> Result<String, Unreadable> {
        match std::mem::take(&mut self.answer.opening).as_slice() {
            [] => Ok(String::new()),
            chunks => frames(None, chunks).map_err(|_| Unreadable),
        }
    }

    fn part(&mut self, part: RunPart, _: &RunFold) -> Result<String, Unreadable> {
        let part = self.answer.disclosure.part(part);
        let chunks = self.answer.ui.push(&part);
        self.last = part.number;
        if part.number <= self.answer.after {
            return Ok(String::new());
        }
        let id = self.run.map(|run| PartId { run, part: part.number });
        frames(id, &chunks).map_err(|_| Unreadable)
    }

    fn end(&mut self, _: &Outcome, _: &RunFold) -> String {
        DONE.to_owned()
    }

    /// Ends open chunks, as the AI SDK requires, and adds an error. These events have no id, because no part contains
    /// them.
    fn interrupted(&mut self, reason: Interruption) -> String {
        let end = RunEnd { outcome: RunOutcome::Failed, error: None };
        let part = RunPart { number: self.last.saturating_add(1), kind: RunPartKind::RunEnded(end) };
        let mut chunks = self.answer.ui.push(&part);
        // The run has no outcome yet.
        chunks.retain(|chunk| !matches!(chunk, UiChunk::MessageMetadata { .. } | UiChunk::Error { .. }));
        chunks.push(UiChunk::Error { error_text: error_text(reason).to_owned() });
        format!("{}{DONE}", frames(None, &chunks).unwrap_or_default())
    }
}

fn error_text(reason: Interruption) -> &'static str {
    match reason {
        Interruption::Draining => "The connection was closed by the server. Please reconnect.",
        Interruption::Gone => "The answer is not streamed any more. Please load the messages.",
        Interruption::Unreadable => "An error occurred.",
    }
}
