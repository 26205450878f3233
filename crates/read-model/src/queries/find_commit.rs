//! Finds a commit by its id, for durable idempotency.

use domain::{CommitId, ConversationId, Position, RequestDigest, Sequence, TenantAccess, Timestamp, Version};

use crate::arguments::arguments;
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::row::Columns;

/// A commit in the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitRow {
    /// The version of its first event.
    pub first_version: Version,
    /// The version of its last event.
    pub last_version: Version,
    /// Its position in the record.
    pub position: Position,
    /// When it was recorded.
    pub recorded_at: Timestamp,
    /// The digest of its request.
    pub request_digest: RequestDigest,
}

/// Finds a commit by its id; `None`: the rows do not contain it. The commits of erased conversations are deleted.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn find_commit(
    model: &ReadModel,
    access: &TenantAccess,
    conversation: &ConversationId,
    commit: CommitId,
) -> Result<Option<CommitRow>, ReadModelError> {
    let (tenant, id) = (access.tenant(), conversation.as_str());
    let arguments = || arguments![tenant.as_str(), id, commit.0];
    let sql = include_str!("find_commit.sql");
    let rows = model.read(access, sql, arguments).await?;
    let columns = rows.first().map(|row| Columns::new(row, tenant, id));
    columns.map(|columns| commit_row(&columns)).transpose()
}

fn commit_row(columns: &Columns<'_>) -> Result<CommitRow, ReadModelError> {
    let first = columns.unsigned(0, "version")?;
    let digest: &[u8] = columns.get(4, "request_digest")?;
    let count: i16 = columns.get(5, "event_count")?;
    let following = u64::try_from(count - 1).map_err(|_| columns.corrupt("event_count"))?;
    let digest = digest.try_into();
    Ok(CommitRow {
        first_version: Version(first),
        last_version: Version(first.saturating_add(following)),
        position: Position { partition: columns.partition()?, sequence: Sequence(columns.unsigned(1, "sequence")?) },
        recorded_at: columns.time(2, "recorded_at")?,
        request_digest: RequestDigest(digest.map_err(|_| columns.corrupt("request_digest"))?),
    })
}
