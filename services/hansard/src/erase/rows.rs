//! Waits until the projector has deleted the rows of erased conversations.

use std::time::{Duration, Instant};

use domain::ConversationKey;
use read_model::ReadModel;
use read_model::projections::conversations::residue;
use serde::{Deserialize, Serialize};

use super::scan::ScannedConversation;

/// The deadline for the deletion of rows.
const ROWS_DEADLINE: Duration = Duration::from_secs(30);
/// The polling interval.
const POLL: Duration = Duration::from_millis(100);
/// Conversations per query.
const PAGE: usize = 1_000;

/// The state of the rows of erased conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Rows {
    /// Only the rows that mark the conversations as erased remain.
    Gone,
    /// Rows remain after the deadline: no projector runs, or it lags.
    Left,
    /// The rows were not checked.
    NotLookedAt,
}

/// Waits until the rows of erased conversations are deleted, for at most 30 s.
pub(crate) async fn await_rows(model: &ReadModel, erased: &[ScannedConversation]) -> anyhow::Result<Rows> {
    let deadline = Instant::now() + ROWS_DEADLINE;
    for page in erased.chunks(PAGE) {
        let keys: Vec<&ConversationKey> = page.iter().map(|found| &found.key).collect();
        while residue(model, &keys).await? > 0 {
            if Instant::now() >= deadline {
                return Ok(Rows::Left);
            }
            tokio::time::sleep(POLL).await;
        }
    }
    Ok(Rows::Gone)
}
