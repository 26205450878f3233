//! One snapshot of a conversation's row, its checkpoint and its parked commit.

use std::sync::LazyLock;

use domain::{Change, ConversationKey, Partition, Sequence, Version};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::super::column::{differing, names};
use super::super::conversation_rows::ProjectedConversation;
use super::difference::Difference;
use crate::arguments::{bind, bind_key, unsigned};
use crate::error::ReadModelError;
use crate::model::ReadModel;

/// The index of the first column of the conversation in a row of `row_state.sql`.
const FIRST_COLUMN: usize = 4;

static ROW_STATE: LazyLock<String> = LazyLock::new(|| {
    let columns = names(ProjectedConversation::ROW, "conversation.");
    format!(include_str!("row_state.sql"), columns = columns)
});

/// The row of a conversation, and the part of the record that it must contain.
#[derive(Debug)]
pub struct RowState {
    /// The last sequence that the rows of the partition contain.
    pub checkpoint: Sequence,
    /// The sequence of the first commit that could not be projected, if the conversation is parked.
    pub parked_at: Option<Sequence>,
    /// The last version that has a row.
    pub last_event: Option<Version>,
    row: PgRow,
    has_row: bool,
}

impl RowState {
    /// The last sequence of the record that the rows of the conversation must contain.
    #[must_use]
    pub fn through(&self) -> Sequence {
        let before_parked = self.parked_at.map(|at| Sequence(at.0.saturating_sub(1)));
        before_parked.map_or(self.checkpoint, |before| before.min(self.checkpoint))
    }

    /// Whether the conversation has a row.
    #[must_use]
    pub fn has_row(&self) -> bool {
        self.has_row
    }

    /// The version of the row; `None`: there is none.
    ///
    /// # Errors
    /// [`ReadModelError::Unavailable`]: the column cannot be read.
    pub fn version(&self) -> Result<Option<Version>, ReadModelError> {
        let version: Option<i64> = self.row.try_get("version")?;
        Ok(version.map(unsigned).map(Version))
    }

    /// Compares the row of the conversation with its commits; `change` is `None` if there are none.
    ///
    /// # Errors
    /// [`ReadModelError::Corrupt`].
    pub fn compare(&self, change: Option<&Change>) -> Result<Option<Difference>, ReadModelError> {
        let expected = change.cloned().and_then(ProjectedConversation::from_history);
        Ok(match (expected, self.has_row) {
            (None, false) => None,
            (None, true) => Some(Difference::ConversationUnfounded),
            (Some(_), false) => Some(Difference::ConversationMissing),
            (Some(expected), true) => {
                let columns = differing(ProjectedConversation::ROW, &expected, &self.row, FIRST_COLUMN)?;
                (!columns.is_empty()).then_some(Difference::ConversationDiffers(columns))
            }
        })
    }
}

/// Reads the state of a conversation's rows; `None`: its partition has no checkpoint, so nothing is projected yet.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn row_state(
    model: &ReadModel,
    key: &ConversationKey,
    partition: Partition,
) -> Result<Option<RowState>, ReadModelError> {
    let arguments = || bind(bind_key(key), i32::from(partition.0));
    let mut rows = model.fetch(&ROW_STATE, arguments).await?;
    let Some(row) = rows.pop() else {
        return Ok(None);
    };
    let number = |column: &str| -> Result<Option<u64>, ReadModelError> {
        Ok(row.try_get::<Option<i64>, _>(column)?.map(unsigned))
    };
    Ok(Some(RowState {
        checkpoint: Sequence(number("checkpoint_sequence")?.unwrap_or_default()),
        parked_at: number("parked_sequence")?.map(Sequence),
        last_event: number("last_event")?.map(Version),
        has_row: row.try_get("has_row")?,
        row,
    }))
}
