//! The digests of what partitions hold: as the projector keeps them, and as the rows come to them.

use domain::{ConversationKey, Partition, Sequence, SetDigest};
use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::{Executor as _, Row as _};

use super::super::row_key::key_of;
use crate::error::ReadModelError;
use crate::model::{Durability, ReadModel};
use crate::queries::bind;

/// Most parked conversations that are looked at.
const PARKED_MAX: i64 = 10_000;

/// What a partition's rows are, in short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionDigest {
    /// The partition.
    pub partition: Partition,
    /// The last sequence that the rows hold.
    pub checkpoint: Sequence,
    /// As the projector keeps it, commit by commit.
    pub kept: SetDigest,
    /// As the conversations' rows come to it.
    pub rows: SetDigest,
    /// How many conversations have a row.
    pub conversations: u64,
}

/// A conversation whose rows do not go on to the checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedPlace {
    /// The conversation.
    pub key: ConversationKey,
    /// Its partition.
    pub partition: Partition,
    /// The commit that cannot be projected; the rows hold those before it.
    pub sequence: Sequence,
}

/// Every partition's digests, by partition, and what is parked (the first 10,000), all of one moment. Reads every
/// conversation's row.
///
/// # Errors
/// [`ReadModelError::Unavailable`], also when the rows cannot be summed up in time.
pub async fn digests(
    model: &ReadModel,
) -> Result<(Vec<PartitionDigest>, Vec<ParkedPlace>), ReadModelError> {
    model
        .transaction(
            Durability::Durable,
            async |connection: &mut PgConnection| {
                connection
                    .execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                    .await?;
                let query = sqlx::query_with(include_str!("digests.sql"), PgArguments::default());
                let digests = query.fetch_all(&mut *connection).await?;
                let arguments = bind(PgArguments::default(), PARKED_MAX);
                let query = sqlx::query_with(include_str!("parked_places.sql"), arguments);
                let parked = query.fetch_all(connection).await?;
                Ok((
                    digests
                        .iter()
                        .map(digest_of)
                        .collect::<Result<_, ReadModelError>>()?,
                    parked
                        .iter()
                        .map(parked_of)
                        .collect::<Result<_, ReadModelError>>()?,
                ))
            },
        )
        .await
}

/// Sets a partition's kept digest to what its rows come to, while its projector waits.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn rewrite_digest(model: &ReadModel, partition: Partition) -> Result<(), ReadModelError> {
    let arguments = || bind(PgArguments::default(), i32::from(partition.0));
    model
        .transaction(
            Durability::Durable,
            async |connection: &mut PgConnection| {
                // Apart from the sum, which must not be of a moment before the projector waits.
                let lock = "SELECT sequence FROM checkpoint WHERE partition = $1 FOR UPDATE";
                for sql in [lock, include_str!("rewrite_digest.sql")] {
                    sqlx::query_with(sql, arguments())
                        .execute(&mut *connection)
                        .await?;
                }
                Ok(())
            },
        )
        .await
}

fn digest_of(row: &PgRow) -> Result<PartitionDigest, ReadModelError> {
    let partition = partition_of(row.try_get(0)?);
    let bits = |index, field: &str| -> Result<SetDigest, ReadModelError> {
        SetDigest::from_bits(row.try_get(index)?).ok_or_else(|| ReadModelError::Corrupt {
            table: "checkpoint",
            row: partition.to_string(),
            field: field.to_owned(),
        })
    };
    Ok(PartitionDigest {
        partition,
        checkpoint: Sequence(unsigned(row.try_get(1)?)),
        kept: bits(2, "digest")?,
        rows: bits(3, "digest")?,
        conversations: unsigned(row.try_get(4)?),
    })
}

fn parked_of(row: &PgRow) -> Result<ParkedPlace, ReadModelError> {
    Ok(ParkedPlace {
        key: key_of(row.try_get(0)?, row.try_get(1)?)?,
        partition: partition_of(row.try_get(2)?),
        sequence: Sequence(unsigned(row.try_get(3)?)),
    })
}

fn partition_of(number: i32) -> Partition {
    Partition(u16::try_from(number).unwrap_or(u16::MAX))
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
