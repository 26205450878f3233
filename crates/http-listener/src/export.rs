//! An export as a stream of pages. Each page is read when the previous one is sent, so memory is bounded.

mod csv;
mod json;
mod ndjson;
mod openai;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use domain::{Conversation, EventKind, Segments, Version};
use futures::Stream;
use futures::stream::try_unfold;
use history::{Bounds, CommitPosition, Deadline, Direction, Page, Range, Snapshot, Target, decode};
use read_model::EventRow;
use runs::Disclosure;
use runtime::http::StreamSlot;
use serde::Deserialize;
use thiserror::Error;
use utoipa::{IntoParams, ToSchema};
use wire::status::Problem;

use crate::csv_row::CSV;
use conversations::Gateway;

/// The content type of documents in lines.
pub const NDJSON: &str = "application/x-ndjson";
/// Size of a page.
const PAGE: Bounds = Bounds { events_max: 500, bytes_max: 1024 * 1024 };

/// The format of the export.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ExportQuery {
    /// The format; absent: JSON.
    #[serde(default)]
    #[param(inline)]
    pub format: ExportFormat,
}

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExportFormat {
    /// One JSON document. The hash chain of the record can be computed from it.
    #[default]
    Json,
    /// CSV for spreadsheets (RFC 4180); no cell is a formula.
    Csv,
    /// One event in each line, as JSON; the last line is `{"end":{"version":N}}`.
    Ndjson,
    /// The messages of the conversation as one JSON document for OpenAI chat completions, without what rewinds hide.
    Openai,
}

impl ExportFormat {
    fn content_type(self) -> &'static str {
        match self {
            Self::Json | Self::Openai => "application/json",
            Self::Csv => CSV,
            Self::Ndjson => NDJSON,
        }
    }

    /// The extension of its files.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Ndjson => "ndjson",
            Self::Openai => "openai.json",
        }
    }
}

/// Why an export ends early: the conversation was erased, or record or rows do not answer.
#[derive(Debug, Error)]
#[error("the export ended early: {0}")]
pub(super) struct ExportError(String);

impl From<Problem> for ExportError {
    fn from(problem: Problem) -> Self {
        Self(problem.reason().as_str().to_owned())
    }
}

/// An export of a conversation in the state in which it was read.
pub struct Export {
    gateway: Gateway,
    target: Target,
    conversation: Conversation,
    format: ExportFormat,
    /// The last version, and the kinds of events; none: all.
    to: Version,
    kinds: Vec<EventKind>,
    disclosure: Disclosure,
    is_started: bool,
    /// The messages of OpenAI that wait for results, and the history that they are of.
    messages: openai::Messages,
    effective: Option<Segments>,
    /// The next version, and a commit before it; `None`: everything is written.
    next: Option<(Version, CommitPosition)>,
}

impl Export {
    /// All events. Reads of the target must include the state of the conversation.
    #[must_use]
    pub fn new(gateway: Gateway, target: Target, conversation: Conversation, format: ExportFormat) -> Self {
        Self {
            gateway,
            target,
            to: conversation.head.version,
            conversation,
            format,
            kinds: Vec::new(),
            disclosure: Disclosure::default(),
            is_started: false,
            messages: openai::Messages::default(),
            effective: None,
            next: Some((Version(1), CommitPosition::default())),
        }
    }

    /// Only the events of a range, of these kinds; no kinds: of all.
    #[must_use]
    pub fn within(mut self, from: Version, to: Version, kinds: Vec<EventKind>) -> Self {
        self.next = Some((from, CommitPosition::default()));
        self.to = self.to.min(to);
        self.kinds = kinds;
        self
    }

    /// Only what is disclosed of tool calls.
    #[must_use]
    pub fn disclosed(mut self, disclosure: Disclosure) -> Self {
        self.disclosure = disclosure;
        self
    }

    /// The response: a file with this name, without an extension.
    #[must_use]
    pub fn respond(self, open: StreamSlot, name: &str) -> Response {
        let extension = self.format.extension();
        let file = format!("attachment; filename=\"{name}.{extension}\"");
        let headers = [
            (header::CONTENT_TYPE, self.format.content_type().to_owned()),
            (header::CONTENT_DISPOSITION, file),
            (header::CACHE_CONTROL, "no-store".to_owned()),
        ];
        let body = Body::from_stream(self.chunks());
        open.respond((headers, body).into_response())
    }

    /// The file, page by page.
    fn chunks(self) -> impl Stream<Item = Result<Bytes, ExportError>> + Send + use<> {
        try_unfold(self, |mut export| async move {
            let chunk = export.chunk().await?;
            Ok(chunk.map(|chunk| (chunk, export)))
        })
    }

    async fn chunk(&mut self) -> Result<Option<Bytes>, ExportError> {
        let Some((from, after)) = self.next.take() else {
            return Ok(None);
        };
        let mut chunk = Vec::new();
        if !std::mem::replace(&mut self.is_started, true) {
            self.start(&mut chunk).await?;
        }
        if from <= self.to {
            let page = self.page(from, after).await?;
            self.next = page.next.map(|next| (next.version, next.after));
            for row in &page.events {
                self.event(row, &mut chunk)?;
            }
        }
        if self.next.is_none() {
            self.end(&mut chunk);
        }
        Ok(Some(chunk.into()))
    }

    async fn page(&mut self, from: Version, after: CommitPosition) -> Result<Page, Problem> {
        let range = Range { from, to: self.to, kinds: &self.kinds, after, ..Range::all(Direction::Forward) };
        self.target.deadline = Deadline::until(None);
        Page::recorded(&self.gateway.reader, &self.target, range, PAGE).await
    }

    async fn start(&mut self, chunk: &mut Vec<u8>) -> Result<(), Problem> {
        match self.format {
            ExportFormat::Json => json::start(&self.conversation, chunk),
            ExportFormat::Csv => csv::start(chunk),
            ExportFormat::Ndjson => {}
            ExportFormat::Openai => {
                self.target.deadline = Deadline::until(None);
                let snapshot = Snapshot::open(&self.gateway.reader, &self.target).await?;
                self.effective = Some(snapshot.effective(self.to).await?);
                openai::start(chunk);
            }
        }
        Ok(())
    }

    fn event(&mut self, row: &EventRow, chunk: &mut Vec<u8>) -> Result<(), Problem> {
        let recorded = decode(&self.target.key, row)?;
        let whole = (!self.disclosure.is_full()).then(|| recorded.clone());
        let Some(event) = self.disclosure.event(recorded) else {
            return Ok(());
        };
        // The bytes of the record contain everything.
        let raw = whole.is_none_or(|whole| event == whole).then_some(&*row.bytes);
        match self.format {
            ExportFormat::Json => json::event(&event, raw, chunk),
            ExportFormat::Csv => csv::event(&event, chunk),
            ExportFormat::Ndjson => ndjson::event(&event, chunk)?,
            ExportFormat::Openai => {
                let effective = self.effective.as_ref();
                if effective.is_none_or(|effective| effective.contains(event.version)) {
                    self.messages.push(event, chunk);
                }
            }
        }
        Ok(())
    }

    fn end(&mut self, chunk: &mut Vec<u8>) {
        let head = &self.conversation.head;
        match self.format {
            ExportFormat::Json => json::end(head, chunk),
            ExportFormat::Csv => csv::end(head, chunk),
            ExportFormat::Ndjson => ndjson::end(self.to, chunk),
            ExportFormat::Openai => self.messages.end(self.to, chunk),
        }
    }
}
