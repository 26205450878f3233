//! The digests of partitions: as the projector stores them, and computed from the rows.

use domain::{ConversationKey, Partition, Sequence, SetDigest};
use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::{Executor as _, Row as _};

use super::super::row_key::parse_key;
use crate::arguments::{arguments, execute, partition_of, unsigned};
use crate::error::ReadModelError;
use crate::model::{Durability, ReadModel};

/// Maximum number of parked conversations that are read.
const PARKED_MAX: i64 = 10_000;

/// The digests of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionDigest {
    /// The partition.
    pub partition: Partition,
    /// The last sequence that the rows contain.
    pub checkpoint: Sequence,
    /// The digest that the projector updates commit by commit.
    pub kept: SetDigest,
    /// The digest computed from the rows of conversations.
    pub rows: SetDigest,
    /// Number of conversations that have a row.
    pub conversations: u64,
}

/// A parked conversation, whose rows end before the checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedPosition {
    /// The conversation.
    pub key: ConversationKey,
    /// Its partition.
    pub partition: Partition,
    /// The commit that cannot be projected; the rows contain those before it.
    pub sequence: Sequence,
}

/// The digests of all partitions, by partition, and the first 10,000 parked conversations, in one snapshot. Reads the rows of
/// all conversations.
///
/// # Errors
/// [`ReadModelError::Unavailable`], also if reading all rows exceeds the timeout.
pub async fn digests(model: &ReadModel) -> Result<(Vec<PartitionDigest>, Vec<ParkedPosition>), ReadModelError> {
    let work = async |connection: &mut PgConnection| {
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        let query = sqlx::query_with(include_str!("digests.sql"), PgArguments::default());
        let digests = query.fetch_all(&mut *connection).await?;
        let query = sqlx::query_with(include_str!("parked_positions.sql"), arguments![PARKED_MAX]);
        let parked = query.fetch_all(connection).await?;
        let digests: Result<_, ReadModelError> = digests.iter().map(digest_of).collect();
        let parked: Result<_, ReadModelError> = parked.iter().map(parked_of).collect();
        Ok((digests?, parked?))
    };
    model.transaction(Durability::Durable, work).await
}

/// Sets the stored digest of a partition to that of its rows, while its projector waits.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn rewrite_digest(model: &ReadModel, partition: Partition) -> Result<(), ReadModelError> {
    let work = async |connection: &mut PgConnection| {
        // A statement of its own: the snapshot of the next one must be later than the lock.
        let lock = "SELECT sequence FROM checkpoint WHERE partition = $1 FOR UPDATE";
        for sql in [lock, include_str!("rewrite_digest.sql")] {
            execute(connection, sql, arguments![i32::from(partition.0)]).await?;
        }
        Ok(())
    };
    model.transaction(Durability::Durable, work).await
}

fn digest_of(row: &PgRow) -> Result<PartitionDigest, ReadModelError> {
    let partition = partition_of(row.try_get("partition")?);
    let bits = |column: &str| -> Result<SetDigest, ReadModelError> {
        SetDigest::from_bits(row.try_get(column)?)
            .ok_or_else(|| ReadModelError::corrupt("checkpoint", partition.to_string(), "digest"))
    };
    Ok(PartitionDigest {
        partition,
        checkpoint: Sequence(unsigned(row.try_get("sequence")?)),
        kept: bits("kept")?,
        rows: bits("held")?,
        conversations: unsigned(row.try_get("conversations")?),
    })
}

fn parked_of(row: &PgRow) -> Result<ParkedPosition, ReadModelError> {
    Ok(ParkedPosition {
        key: parse_key(row.try_get("tenant_id")?, row.try_get("conversation_id")?)?,
        partition: partition_of(row.try_get("partition")?),
        sequence: Sequence(unsigned(row.try_get("sequence")?)),
    })
}
