//! An export as a stream of pages. Each page is read when the previous one is sent, so memory is bounded.

mod csv;
pub mod export_chat;
mod json;

use bytes::Bytes;
use domain::{Conversation, Version};
use futures::Stream;
use futures::stream::try_unfold;
use history::{CommitPosition, Deadline, Direction, Page, PageBounds, Query, Target, decode};
use read_model::EventRow;
use serde::Deserialize;
use thiserror::Error;
use utoipa::ToSchema;
use wire::status::Problem;

use crate::Gateway;
use crate::http::owned_chat::OwnedChat;

/// Size of a page.
const PAGE: PageBounds = PageBounds {
    events_max: 500,
    bytes_max: 1024 * 1024,
};

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExportFormat {
    /// One JSON document. The hash chain of the record can be computed from it.
    #[default]
    Json,
    /// CSV for spreadsheets (RFC 4180); no cell is a formula.
    Csv,
}

impl ExportFormat {
    fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Csv => "text/csv; charset=utf-8; header=present",
        }
    }

    fn extension(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Csv => "csv",
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

struct Export {
    gateway: Gateway,
    target: Target,
    conversation: Conversation,
    format: ExportFormat,
    /// The next version, and a commit before it; `None`: everything is written.
    next: Option<(Version, CommitPosition)>,
}

/// The file, page by page.
pub(super) fn stream(
    gateway: Gateway,
    chat: OwnedChat,
    format: ExportFormat,
) -> impl Stream<Item = Result<Bytes, ExportError>> + Send + use<> {
    let export = Export {
        gateway,
        target: chat.target,
        conversation: chat.conversation,
        format,
        next: Some((Version(1), CommitPosition::default())),
    };
    try_unfold(export, |mut export| async move {
        let chunk = export.chunk().await?;
        Ok(chunk.map(|chunk| (chunk, export)))
    })
}

impl Export {
    async fn chunk(&mut self) -> Result<Option<Bytes>, ExportError> {
        let Some((from, after)) = self.next else {
            return Ok(None);
        };
        let query = Query {
            from,
            to: self.conversation.head.version,
            after,
            ..Query::all(Direction::Forward)
        };
        self.target.deadline = Deadline::until(None);
        let page = Page::recorded(&self.gateway.reader, &self.target, query, PAGE).await?;
        self.next = page.next.map(|next| (next.version, next.after));
        let mut chunk = Vec::new();
        if from == Version(1) {
            self.start(&mut chunk);
        }
        for row in &page.events {
            self.event(row, &mut chunk)?;
        }
        if self.next.is_none() {
            self.end(&mut chunk);
        }
        Ok(Some(chunk.into()))
    }

    fn start(&self, chunk: &mut Vec<u8>) {
        match self.format {
            ExportFormat::Json => json::start(&self.conversation, chunk),
            ExportFormat::Csv => csv::start(chunk),
        }
    }

    fn event(&self, row: &EventRow, chunk: &mut Vec<u8>) -> Result<(), Problem> {
        let event = decode(&self.target.key, row)?;
        match self.format {
            ExportFormat::Json => json::event(&event, &row.bytes, chunk),
            ExportFormat::Csv => csv::event(&event, chunk),
        }
        Ok(())
    }

    fn end(&self, chunk: &mut Vec<u8>) {
        let head = &self.conversation.head;
        match self.format {
            ExportFormat::Json => json::end(head, chunk),
            ExportFormat::Csv => csv::end(head, chunk),
        }
    }
}
