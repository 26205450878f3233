//! Finds one document by its name.

use domain::{ConversationId, DocumentName, TenantAccess, Timestamp, Version};
use sqlx::Row as _;

use crate::arguments::{arguments, unsigned};
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::pg_timestamp::PgTimestamp;

/// The value of a document. Times are rounded down to the microsecond.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentValue {
    /// The version of its last event.
    pub version: Version,
    /// When its first value was recorded, since its last deletion or expiry.
    pub created_at: Timestamp,
    /// When its value was recorded.
    pub updated_at: Timestamp,
    /// From when on it is not read; `None`: it has no end.
    pub expires_at: Option<Timestamp>,
    /// JSON text, byte for byte.
    pub value_json: String,
}

/// What the rows know of a document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProjectedState {
    /// The version of the conversation in its row; 0: it has no row.
    pub through: Version,
    /// The document at this version, also if it has expired.
    pub document: Option<DocumentValue>,
}

/// The state of a document in the rows.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn find_document(
    model: &ReadModel,
    access: &TenantAccess,
    conversation: &ConversationId,
    name: &DocumentName,
) -> Result<ProjectedState, ReadModelError> {
    let namespace = name.namespace.encoded();
    let arguments =
        || arguments![access.tenant().as_str(), conversation.as_str(), namespace.as_str(), name.key.as_str(),];
    let rows = model.read(access, include_str!("find.sql"), arguments).await?;
    let Some(row) = rows.first() else {
        return Ok(ProjectedState::default());
    };
    let through = Version(unsigned(row.try_get("conversation_version")?));
    let Some(version) = row.try_get::<Option<i64>, _>("version")? else {
        return Ok(ProjectedState { through, document: None });
    };
    let document = DocumentValue {
        version: Version(unsigned(version)),
        created_at: row.try_get::<PgTimestamp, _>("created_at")?.with_nanos(0),
        updated_at: row.try_get::<PgTimestamp, _>("updated_at")?.with_nanos(0),
        expires_at: row.try_get::<Option<PgTimestamp>, _>("expires_at")?.map(|at| at.with_nanos(0)),
        value_json: row.try_get("value_json")?,
    };
    Ok(ProjectedState { through, document: Some(document) })
}
