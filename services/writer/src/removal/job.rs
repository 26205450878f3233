//! One removal: read the entry and the last commit, decide, overwrite the commits, remove the entry.

use domain::{ConversationKey, ErasureStep, Sequence, Timestamp, erasure_step};
use event_log::{ErasedCounts, PendingErasure, Unavailable};
use tokio::time::{MissedTickBehavior, interval};

use super::{RENEW_INTERVAL, Removals};
use crate::metrics;

/// The reason why a removal stopped early.
enum Stopped {
    /// Another writer runs it.
    TakenOver,
    /// The record does not answer; the next sweep retries.
    Unavailable(Unavailable),
}

impl From<Unavailable> for Stopped {
    fn from(unavailable: Unavailable) -> Self {
        Self::Unavailable(unavailable)
    }
}

/// Runs a removal. Returns whether it is complete.
pub(super) async fn run(removals: &Removals, key: &ConversationKey) -> bool {
    match remove(removals, key).await {
        Ok(is_done) => is_done,
        Err(Stopped::TakenOver) => false,
        Err(Stopped::Unavailable(unavailable)) => {
            tracing::warn!(tenant.id = %key.tenant, conversation.id = %key.conversation, %unavailable, "a removal stopped, it will be retried");
            false
        }
    }
}

async fn remove(removals: &Removals, key: &ConversationKey) -> Result<bool, Stopped> {
    let record = &removals.0.record;
    let Some(entry) = record.pending_erasure(key).await? else {
        return Ok(true);
    };
    let last = record.last_from_leader(key).await?;
    let last = last.map(|last| {
        let unreadable = Unavailable {
            what: "the last commit of an erased conversation cannot be read",
            retry_after_ms: 0,
        };
        let head = last.open_head().map_err(|_| unreadable)?;
        Ok::<_, Unavailable>((last.position.sequence, head.status))
    });
    let now = Timestamp(removals.0.clock.now_nanos());
    match erasure_step(entry.behind, entry.age(now), last.transpose()?) {
        ErasureStep::Wait => Ok(false),
        ErasureStep::Forget => {
            record.end_erasure(&entry).await?;
            Ok(true)
        }
        ErasureStep::Overwrite { tombstone } => {
            overwrite(removals, entry, tombstone).await?;
            Ok(true)
        }
    }
}

/// Overwrites the commits before the tombstone. Meanwhile it renews the entry, so that no other writer takes it over.
async fn overwrite(
    removals: &Removals,
    entry: PendingErasure,
    tombstone: Sequence,
) -> Result<(), Stopped> {
    let record = &removals.0.record;
    let key = entry.key.clone();
    let mut entry = renew(removals, entry).await?;
    let overwriting = record.erase_before_tombstone(&key, tombstone);
    let mut overwriting = std::pin::pin!(overwriting);
    let mut renewals = interval(RENEW_INTERVAL);
    renewals.set_missed_tick_behavior(MissedTickBehavior::Delay);
    renewals.tick().await;
    let overwritten = loop {
        tokio::select! {
            overwritten = &mut overwriting => break overwritten?,
            _ = renewals.tick() => entry = renew(removals, entry).await?,
        }
    };
    record.end_erasure(&entry).await?;
    report(&key, overwritten);
    Ok(())
}

/// Writes the entry with this writer as its holder.
async fn renew(removals: &Removals, entry: PendingErasure) -> Result<PendingErasure, Stopped> {
    let held = removals.0.record.renew_erasure(&entry, removals.0.holder);
    held.await?.ok_or(Stopped::TakenOver)
}

fn report(key: &ConversationKey, overwritten: ErasedCounts) {
    metrics::removed(overwritten.commits);
    tracing::info!(tenant.id = %key.tenant, conversation.id = %key.conversation, commits = overwritten.commits, parts = overwritten.parts, "a removal is complete");
}
