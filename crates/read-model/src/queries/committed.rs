//! What became of a commit: durable idempotency.

use domain::{
    CommitId, ConversationId, Position, RequestDigest, Sequence, TenantAccess, Timestamp, Version,
};
use sqlx::postgres::PgArguments;

use super::bind;
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::row::Columns;

/// A commit that the read model holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommittedRow {
    /// The version of its first event.
    pub first_version: Version,
    /// The version of its last event.
    pub last_version: Version,
    /// Where it stands in the record.
    pub position: Position,
    /// When it was recorded.
    pub recorded_at: Timestamp,
    /// What was asked, in short.
    pub request_digest: RequestDigest,
}

/// The commit with this id, where the read model holds it. An erased conversation's commits are gone.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn committed(
    model: &ReadModel,
    access: &TenantAccess,
    conversation: &ConversationId,
    commit: CommitId,
) -> Result<Option<CommittedRow>, ReadModelError> {
    let arguments = || {
        let arguments = bind(PgArguments::default(), access.tenant().as_str());
        bind(bind(arguments, conversation.as_str()), commit.0)
    };
    let rows = model
        .read(access, include_str!("committed.sql"), arguments)
        .await?;
    let columns = rows
        .first()
        .map(|row| Columns::of(row, access.tenant(), conversation.as_str()));
    columns.map(|columns| committed_row(&columns)).transpose()
}

fn committed_row(columns: &Columns<'_>) -> Result<CommittedRow, ReadModelError> {
    let first = columns.unsigned(0, "version")?;
    let digest: &[u8] = columns.get(4, "request_digest")?;
    let count: i16 = columns.get(5, "event_count")?;
    let later = u64::try_from(count - 1).map_err(|_| columns.corrupt("event_count"))?;
    Ok(CommittedRow {
        first_version: Version(first),
        last_version: Version(first.saturating_add(later)),
        position: Position {
            partition: columns.partition()?,
            sequence: Sequence(columns.unsigned(1, "sequence")?),
        },
        recorded_at: columns.time(2, "recorded_at")?,
        request_digest: RequestDigest(
            digest
                .try_into()
                .map_err(|_| columns.corrupt("request_digest"))?,
        ),
    })
}
