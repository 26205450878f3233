//! Reads one document: its row, and the events of its conversation that the rows do not contain yet.

use domain::event::DocumentPut;
use domain::{Annotation, CommitId, ConversationId, DocumentName, EventKind, Fact, RecordedEvent, Timestamp, Version};
use history::{Bounds, Direction, Range, Snapshot, View, decode};
use read_model::queries::documents::{DocumentValue, find_document};
use wire::status::{Problem, Reason};

use super::scope::DocumentLocation;
use crate::Gateway;

/// The events of documents.
pub(super) const KINDS: [EventKind; 2] = [EventKind::DocumentPut, EventKind::DocumentDeleted];
/// The events that one read returns.
const BATCH: Bounds = Bounds { events_max: 200, bytes_max: 1024 * 1024 };
const NANOS_PER_MICRO: i64 = 1_000;

/// A document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its conversation.
    pub conversation: ConversationId,
    /// Its name.
    pub name: DocumentName,
    /// Its value.
    pub value: DocumentValue,
}

/// The state of a document and of its conversation.
#[derive(Debug, Clone, Default)]
pub struct DocumentState {
    /// The value, also if it has expired; `None`: there is none.
    pub value: Option<DocumentValue>,
    /// The version of the conversation; 0: it does not exist, or was erased.
    pub version: Version,
    /// The last commit of the conversation.
    pub last_commit: Option<CommitId>,
    /// When it was recorded.
    pub recorded_at: Timestamp,
    /// The position of the read.
    pub position_token: String,
}

impl DocumentState {
    /// The value, unless it has expired.
    #[must_use]
    pub fn live(&self, now: Timestamp) -> Option<&DocumentValue> {
        let value = self.value.as_ref();
        value.filter(|value| !has_expired(value, now))
    }
}

/// The state of a document.
///
/// # Errors
/// Rows or record are unavailable or corrupt.
pub async fn find(gateway: &Gateway, location: &DocumentLocation) -> Result<DocumentState, Problem> {
    let target = &location.target;
    let reader = gateway.reader.for_request(&target.key.tenant);
    let (model, access) = (&reader.read_model, &target.access.tenant);
    let conversation = &target.key.conversation;
    let rows = target.deadline.rows(find_document(model, access, conversation, &location.name)).await?;
    // The events after the row. The snapshot is opened after the row was read, so none is missing.
    let range = Range { from: rows.through.next(), kinds: &KINDS, ..Range::all(Direction::Forward) };
    let opened = Snapshot::open_with(&reader, target, &range, BATCH).await;
    let (snapshot, first) = match opened {
        Err(problem) if problem.reason() == Reason::ConversationNotFound => {
            return Ok(DocumentState::default());
        }
        opened => opened?,
    };
    let inherited = snapshot.forked_from().map(|fork| fork.version);
    let mut value = rows.document;
    let mut cursor = snapshot.cursor_from(range, View::Recorded, first);
    while let Some(events) = cursor.next(BATCH).await? {
        for event in events {
            let event = decode(&target.key, &event.row)?;
            if event.version > inherited.unwrap_or_default() {
                apply(&mut value, &location.name, event);
            }
        }
    }
    let last = snapshot.head().and_then(|head| head.recent.last());
    Ok(DocumentState {
        value,
        version: snapshot.position().version,
        last_commit: last.map(|commit| commit.id),
        recorded_at: last.map_or(Timestamp::default(), |commit| commit.recorded_at),
        position_token: snapshot.position_token().await?,
    })
}

/// The fold of the projector for one document.
fn apply(value: &mut Option<DocumentValue>, name: &DocumentName, event: RecordedEvent) {
    match event.event.fact {
        Fact::Annotation(Annotation::DocumentPut(put)) if put.name == *name => {
            let earlier = value.take();
            *value = Some(after_put(earlier, &put, event.version, event.recorded_at));
        }
        Fact::Annotation(Annotation::DocumentDeleted(deleted)) if deleted.name == *name => {
            *value = None;
        }
        Fact::MessageAppended(_)
        | Fact::ToolCalled(_)
        | Fact::ToolReturned(_)
        | Fact::Annotation(_)
        | Fact::Lifecycle(_) => {}
    }
}

fn after_put(
    earlier: Option<DocumentValue>,
    put: &DocumentPut,
    version: Version,
    recorded_at: Timestamp,
) -> DocumentValue {
    let now = in_micros(recorded_at);
    let earlier = earlier.filter(|earlier| !has_expired(earlier, now));
    DocumentValue {
        version,
        created_at: earlier.map_or(now, |earlier| earlier.created_at),
        updated_at: now,
        expires_at: put.expires_at(recorded_at).map(in_micros),
        value_json: put.value.as_str().to_owned(),
    }
}

/// Whether a value is not read any more.
pub(super) fn has_expired(value: &DocumentValue, now: Timestamp) -> bool {
    value.expires_at.is_some_and(|end| end <= now)
}

/// The time as rows contain it.
fn in_micros(time: Timestamp) -> Timestamp {
    Timestamp(time.0 - time.0.rem_euclid(NANOS_PER_MICRO))
}
