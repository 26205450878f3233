//! One removal: read the entry and the last commit, decide, overwrite the commits, remove the entry.

use domain::{ConversationKey, ErasureStep, Sequence, erasure_step};
use event_log::{PendingErasure, Unavailable};
use tokio::time::{MissedTickBehavior, interval};

use super::{RENEW_INTERVAL, Removals};
use crate::metrics;

/// Runs a removal. Returns whether it is complete. If the record does not answer, the next sweep retries.
pub(super) async fn run(removals: &Removals, key: &ConversationKey) -> bool {
    match remove(removals, key).await {
        Ok(is_done) => is_done,
        Err(unavailable) => {
            tracing::warn!(tenant.id = %key.tenant, conversation.id = %key.conversation, %unavailable, "a removal stopped, it will be retried");
            false
        }
    }
}

async fn remove(removals: &Removals, key: &ConversationKey) -> Result<bool, Unavailable> {
    let record = &removals.0.record;
    let Some(entry) = record.pending_erasure(key).await? else {
        return Ok(true);
    };
    let last = record.last_from_leader(key).await?.map(|last| {
        let unreadable =
            Unavailable { what: "the last commit of an erased conversation cannot be read", retry_after_ms: 0 };
        let head = last.open_head().map_err(|_| unreadable)?;
        Ok::<_, Unavailable>((last.position.sequence, head.status))
    });
    // The entry has a time of the server.
    let now = record.server_time(key).await?.earliest;
    match erasure_step(entry.behind, entry.age(now), last.transpose()?) {
        ErasureStep::Wait => Ok(false),
        ErasureStep::Forget => {
            record.end_erasure(&entry).await?;
            Ok(true)
        }
        ErasureStep::Overwrite { tombstone } => overwrite(removals, entry, tombstone).await,
    }
}

/// Overwrites the commits before the tombstone. Meanwhile it renews the entry, so that no other writer takes it over. Returns
/// `false` if another writer has taken it over.
async fn overwrite(removals: &Removals, entry: PendingErasure, tombstone: Sequence) -> Result<bool, Unavailable> {
    let (record, holder) = (&removals.0.record, removals.0.holder);
    let key = entry.key.clone();
    let Some(mut entry) = record.renew_erasure(&entry, holder).await? else {
        return Ok(false);
    };
    let overwrite = record.erase_before_tombstone(&key, tombstone);
    let mut overwriting = std::pin::pin!(overwrite);
    let mut renewals = interval(RENEW_INTERVAL);
    renewals.set_missed_tick_behavior(MissedTickBehavior::Delay);
    renewals.tick().await;
    let overwritten = loop {
        tokio::select! {
            overwritten = &mut overwriting => break overwritten?,
            _ = renewals.tick() => match record.renew_erasure(&entry, holder).await? {
                Some(renewed) => entry = renewed,
                None => return Ok(false),
            },
        }
    };
    record.end_erasure(&entry).await?;
    metrics::removed(overwritten.commits);
    tracing::info!(tenant.id = %key.tenant, conversation.id = %key.conversation, commits = overwritten.commits, parts = overwritten.parts, "a removal is complete");
    Ok(true)
}
