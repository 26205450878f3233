//! Where a conversation's rows stand, as of one moment, beside how far the record is projected.

use std::sync::LazyLock;

use domain::{Change, ConversationKey, Partition, Sequence, Version};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};

use super::super::column::{differing, names};
use super::super::conversation_rows::ProjectedConversation;
use super::difference::Difference;
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::queries::bind;

/// Where the conversation's own columns begin in a row of `standing.sql`.
const FIRST_COLUMN: usize = 4;

static STANDING: LazyLock<String> = LazyLock::new(|| {
    let columns = names(ProjectedConversation::ROW, "conversation.");
    format!(include_str!("standing.sql"), columns = columns)
});

/// A conversation's row, and what of the record it must hold.
#[derive(Debug)]
pub struct Standing {
    /// The last sequence that the partition's rows hold.
    pub checkpoint: Sequence,
    /// Where the first commit stands that could not be projected, when the conversation is parked.
    pub parked_at: Option<Sequence>,
    /// The last version that an event has a row of.
    pub last_event: Option<Version>,
    row: PgRow,
    has_row: bool,
}

impl Standing {
    /// The last sequence of the record that the conversation's rows must hold.
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

    /// How the conversation's own row differs from what its commits come to; `None` for no commits.
    ///
    /// # Errors
    /// [`ReadModelError::Corrupt`].
    pub fn compare(&self, change: Option<&Change>) -> Result<Option<Difference>, ReadModelError> {
        let expected = change.cloned().and_then(ProjectedConversation::of_history);
        Ok(match (expected, self.has_row) {
            (None, false) => None,
            (None, true) => Some(Difference::ConversationUnfounded),
            (Some(_), false) => Some(Difference::ConversationMissing),
            (Some(expected), true) => {
                let columns = ProjectedConversation::ROW;
                let columns = differing(columns, &expected, &self.row, FIRST_COLUMN)?;
                (!columns.is_empty()).then_some(Difference::ConversationDiffers(columns))
            }
        })
    }
}

/// Where a conversation's rows stand; `None`: its partition has no checkpoint, so that nothing of it is projected yet.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn standing(
    model: &ReadModel,
    key: &ConversationKey,
    partition: Partition,
) -> Result<Option<Standing>, ReadModelError> {
    let arguments = || {
        let arguments = bind(PgArguments::default(), key.tenant.as_str());
        let arguments = bind(arguments, key.conversation.as_str());
        bind(arguments, i32::from(partition.0))
    };
    let mut rows = model.fetch(&STANDING, arguments).await?;
    let unsigned = |number: i64| u64::try_from(number).unwrap_or(0);
    let Some(row) = rows.pop() else {
        return Ok(None);
    };
    Ok(Some(Standing {
        checkpoint: Sequence(unsigned(row.try_get(0)?)),
        parked_at: row
            .try_get::<Option<i64>, _>(1)?
            .map(|at| Sequence(unsigned(at))),
        last_event: row
            .try_get::<Option<i64>, _>(2)?
            .map(|last| Version(unsigned(last))),
        has_row: row.try_get(3)?,
        row,
    }))
}
