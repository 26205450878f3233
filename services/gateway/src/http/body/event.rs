//! Events with their position.

use domain::RecordedEvent;
use serde::Serialize;
use utoipa::ToSchema;

use super::fact::FactBody;
use super::instant::rfc3339;
use super::verbatim::Verbatim;

/// An event with its position.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventBody {
    /// Its version: the order of events in the conversation.
    #[schema(example = 3)]
    version: u64,
    /// Its id.
    event_id: String,
    /// Its commit. All events of a commit are recorded together.
    commit_id: String,
    /// When it was recorded; RFC 3339.
    recorded_at: String,
    /// When it happened, if the caller gave a time; RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    occurred_at: Option<String>,
    /// Its metadata, as it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Verbatim>,
    /// The event.
    #[serde(flatten)]
    fact: FactBody,
}

impl From<&RecordedEvent> for EventBody {
    fn from(recorded: &RecordedEvent) -> Self {
        let event = &recorded.event;
        Self {
            version: recorded.version.0,
            event_id: event.id.to_string(),
            commit_id: recorded.commit.to_string(),
            recorded_at: rfc3339(recorded.recorded_at),
            occurred_at: event.occurred_at.map(rfc3339),
            metadata: event.metadata.clone().map(Verbatim),
            fact: (&event.fact).into(),
        }
    }
}
