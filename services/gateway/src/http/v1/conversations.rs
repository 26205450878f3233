//! `/v1/conversations`: the record for back ends, which run their own model.

pub mod context;
pub mod create_conversation;
pub mod events;
pub mod get_recorded_conversation;
pub mod update_conversation;

use domain::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;
use wire::proto::write::v1::CommitResult;

use api_json::instant::rfc3339;

/// The recorded commit.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommitBody {
    /// The conversation.
    conversation_id: String,
    /// The commit: the idempotency key if one was sent. Absent: nothing changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit_id: Option<String>,
    /// The version of its first event. Absent: nothing changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_version: Option<u64>,
    /// The conversation's version after the commit.
    version: u64,
    /// When it was recorded; RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded_at: Option<String>,
    /// The position of the commit, as in the header `x-position-token`: a read that sends it includes the commit.
    position_token: String,
    /// Whether this is the answer to a retry: an earlier attempt recorded the commit.
    replayed: bool,
}

impl From<CommitResult> for CommitBody {
    fn from(result: CommitResult) -> Self {
        let recorded_at: Option<Timestamp> = result.recorded_at.map(wire::time::from_proto).and_then(Result::ok);
        Self {
            conversation_id: result.conversation_id,
            commit_id: (!result.commit_id.is_empty()).then_some(result.commit_id),
            first_version: (result.first_version > 0).then_some(result.first_version),
            version: result.version,
            recorded_at: recorded_at.map(rfc3339),
            position_token: result.position_token,
            replayed: result.replayed,
        }
    }
}
