//! Whether the read model has let go of what is erased: its projector does that when it comes to the tombstones.

use std::time::{Duration, Instant};

use domain::ConversationKey;
use read_model::ReadModel;
use read_model::projections::conversations::remains;
use serde::{Deserialize, Serialize};

use super::scan::Found;

/// How long rows are waited for.
const ROWS_PATIENCE: Duration = Duration::from_secs(30);
/// How often they are looked for.
const POLL: Duration = Duration::from_millis(100);
/// Conversations that are looked for at a time.
const PAGE: usize = 1_000;

/// What was seen of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Rows {
    /// None is left but those that say that the conversations are erased.
    Gone,
    /// Some were left when the wait was over: no projector runs, or it is far behind.
    Left,
    /// Nobody looked.
    NotLookedAt,
}

/// Waits until the rows of erased conversations are gone, for 30 s at most.
///
/// # Errors
/// Postgres does not answer.
pub async fn await_rows(model: &ReadModel, erased: &[Found]) -> anyhow::Result<Rows> {
    let deadline = Instant::now() + ROWS_PATIENCE;
    for page in erased.chunks(PAGE) {
        let keys: Vec<&ConversationKey> = page.iter().map(|found| &found.key).collect();
        while remains(model, &keys).await? > 0 {
            if Instant::now() >= deadline {
                return Ok(Rows::Left);
            }
            tokio::time::sleep(POLL).await;
        }
    }
    Ok(Rows::Gone)
}
