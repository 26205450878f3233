//! Lists the schemas.

use domain::Timestamp;
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};

use crate::arguments::unsigned;
use crate::error::ReadModelError;
use crate::live::{SchemaName, parse_schema_name};
use crate::model::ReadModel;
use crate::pg_timestamp::PgTimestamp;

/// The phase of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The record is being copied into it.
    Copying,
    /// Its rows are complete, its indexes are not.
    Indexing,
    /// It follows the record, and is not compared yet.
    Following,
    /// It is or was the live schema.
    Whole,
}

/// The role of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaState {
    /// Readers use it, projectors write it.
    Live,
    /// A rebuild is creating it, or was stopped.
    Building,
    /// It was live, and is retained for a switch back.
    Kept,
}

/// A schema and its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaInfo {
    /// The schema.
    pub name: SchemaName,
    /// Its role.
    pub state: SchemaState,
    /// Its phase.
    pub phase: Phase,
    /// When it was created.
    pub made_at: Timestamp,
    /// When readers last switched to another schema; `None`: never.
    pub left_at: Option<Timestamp>,
    /// Size of its tables and indexes on disk, in bytes.
    pub bytes: u64,
}

impl Phase {
    /// Parses a phase in a column.
    pub(super) fn parse(text: &str) -> Result<Self, ReadModelError> {
        match text {
            "copying" => Ok(Self::Copying),
            "indexing" => Ok(Self::Indexing),
            "following" => Ok(Self::Following),
            "whole" => Ok(Self::Whole),
            _ => Err(ReadModelError::corrupt("schema", "?", "phase")),
        }
    }

    /// The phase in a column and in outputs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Copying => "copying",
            Self::Indexing => "indexing",
            Self::Following => "following",
            Self::Whole => "whole",
        }
    }
}

/// All schemas of the projection, the oldest first.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn list(model: &ReadModel) -> Result<Vec<SchemaInfo>, ReadModelError> {
    let sql = include_str!("list.sql");
    let rows = model.fetch(sql, PgArguments::default).await?;
    rows.iter().map(schema_info).collect()
}

fn schema_info(row: &PgRow) -> Result<SchemaInfo, ReadModelError> {
    let phase = Phase::parse(row.try_get("phase")?)?;
    let state = match (row.try_get("is_live")?, phase) {
        (true, _) => SchemaState::Live,
        (false, Phase::Whole) => SchemaState::Kept,
        (false, Phase::Copying | Phase::Indexing | Phase::Following) => SchemaState::Building,
    };
    let made_at: PgTimestamp = row.try_get("made_at")?;
    let left_at: Option<PgTimestamp> = row.try_get("left_at")?;
    Ok(SchemaInfo {
        name: parse_schema_name(row.try_get("name")?)?,
        state,
        phase,
        made_at: made_at.with_nanos(0),
        left_at: left_at.map(|left_at| left_at.with_nanos(0)),
        bytes: unsigned(row.try_get("bytes")?),
    })
}
