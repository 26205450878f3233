//! What schemas there are.

use domain::Timestamp;
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};

use crate::error::ReadModelError;
use crate::live::{SchemaName, name_of};
use crate::model::ReadModel;
use crate::moment::Moment;

/// How far a schema is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It is filled from the record.
    Copying,
    /// Its rows are there, its indexes not yet.
    Indexing,
    /// It follows the record, and was not compared yet.
    Following,
    /// It is or was the live one.
    Whole,
}

/// What a schema is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaState {
    /// Readers use it, projectors fill it.
    Live,
    /// A rebuild is under way, or was stopped.
    Building,
    /// It was live, and can be again.
    Kept,
}

/// A schema as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaStanding {
    /// The schema.
    pub name: SchemaName,
    /// What it is for.
    pub state: SchemaState,
    /// How far it is made.
    pub phase: Phase,
    /// When it was begun.
    pub made_at: Timestamp,
    /// When readers were last sent elsewhere; `None`: never.
    pub left_at: Option<Timestamp>,
    /// What its tables and indexes take on the disk, in bytes.
    pub bytes: u64,
}

impl Phase {
    /// The phase in a column.
    pub(super) fn parse(text: &str) -> Result<Self, ReadModelError> {
        match text {
            "copying" => Ok(Self::Copying),
            "indexing" => Ok(Self::Indexing),
            "following" => Ok(Self::Following),
            "whole" => Ok(Self::Whole),
            _ => Err(ReadModelError::Corrupt {
                table: "schema",
                row: "?".to_owned(),
                field: "phase".to_owned(),
            }),
        }
    }

    /// The phase as it is written.
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

/// Every schema of the projection, the oldest first.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn list(model: &ReadModel) -> Result<Vec<SchemaStanding>, ReadModelError> {
    let sql = include_str!("list.sql");
    let rows = model.fetch(sql, PgArguments::default).await?;
    rows.iter().map(standing_of).collect()
}

fn standing_of(row: &PgRow) -> Result<SchemaStanding, ReadModelError> {
    let phase = Phase::parse(row.try_get(2)?)?;
    let state = match (row.try_get(1)?, phase) {
        (true, _) => SchemaState::Live,
        (false, Phase::Whole) => SchemaState::Kept,
        (false, Phase::Copying | Phase::Indexing | Phase::Following) => SchemaState::Building,
    };
    let made_at: Moment = row.try_get(3)?;
    let left_at: Option<Moment> = row.try_get(4)?;
    Ok(SchemaStanding {
        name: name_of(row.try_get(0)?)?,
        state,
        phase,
        made_at: made_at.plus(0),
        left_at: left_at.map(|left_at| left_at.plus(0)),
        bytes: u64::try_from(row.try_get::<i64, _>(5)?).unwrap_or(0),
    })
}
