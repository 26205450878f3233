//! The values and deletions of a document, from its conversation.

use domain::{Annotation, Fact, JsonText, Timestamp, Version};
use history::{Bounds, Direction, Page, Range, decode};
use read_model::queries::EventQuery;
use wire::status::{Problem, Reason};

use super::find::KINDS;
use super::scope::DocumentLocation;
use super::search::DOCUMENTS_PAGE_BYTES_MAX;
use crate::Gateway;

/// A value or the deletion of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentVersion {
    /// Its version.
    pub version: Version,
    /// When it was recorded.
    pub recorded_at: Timestamp,
    /// The value; `None`: the document was deleted.
    pub value: Option<JsonText>,
    /// It is read for this many seconds after its record.
    pub ttl_seconds: Option<u64>,
}

/// Versions of a document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VersionsPage {
    /// The versions, the newest first.
    pub versions: Vec<DocumentVersion>,
    /// Later versions were returned; the next page continues before this one. 0: there are no more.
    pub next_before: u64,
}

/// The versions of a document before `before`, the newest first; 0: all.
///
/// # Errors
/// Rows or record are unavailable or corrupt.
pub async fn versions(
    gateway: &Gateway,
    location: &DocumentLocation,
    before: u64,
    limit: u32,
) -> Result<VersionsPage, Problem> {
    let range = Range {
        kinds: &KINDS,
        to: before.checked_sub(1).map_or(EventQuery::OPEN_END, Version),
        ..Range::all(Direction::Backward)
    };
    let bounds = Bounds::of(limit, u64::try_from(DOCUMENTS_PAGE_BYTES_MAX).unwrap_or(u64::MAX));
    let read = Page::recorded(&gateway.reader, &location.target, range, bounds).await;
    let page = match read {
        Err(problem) if problem.reason() == Reason::ConversationNotFound => {
            return Ok(VersionsPage::default());
        }
        read => read?,
    };
    let mut versions = Vec::new();
    for row in &page.events {
        let event = decode(&location.target.key, row)?;
        versions.extend(version_of(location, event));
    }
    Ok(VersionsPage { versions, next_before: page.next.map_or(0, |next| next.version.0.saturating_add(1)) })
}

/// The version that an event records; `None`: it is of another document.
fn version_of(location: &DocumentLocation, event: domain::RecordedEvent) -> Option<DocumentVersion> {
    let (name, value, ttl_seconds) = match event.event.fact {
        Fact::Annotation(Annotation::DocumentPut(put)) => (put.name, Some(put.value), put.ttl_seconds),
        Fact::Annotation(Annotation::DocumentDeleted(deleted)) => (deleted.name, None, None),
        Fact::MessageAppended(_)
        | Fact::ToolCalled(_)
        | Fact::ToolReturned(_)
        | Fact::Annotation(_)
        | Fact::Lifecycle(_) => return None,
    };
    (name == location.name).then_some(DocumentVersion {
        version: event.version,
        recorded_at: event.recorded_at,
        value,
        ttl_seconds,
    })
}
