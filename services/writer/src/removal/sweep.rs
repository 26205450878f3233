//! The sweep: going through the list of erasures in progress, for what this writer has to do and what others left.

use std::collections::HashMap;
use std::convert::Infallible;
use std::time::Duration;

use domain::{ConversationKey, Sequence, Timestamp};
use event_log::{PendingErasure, Unavailable};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::{Removals, SWEEP_EVERY, TAKEOVER_AFTER};
use crate::metrics;

/// Most entries that one sweep reads; the next one continues after them.
pub(super) const SWEPT_ENTRIES_MAX: usize = 256;

/// Sweeps for ever.
pub(super) async fn keep(removals: Removals) -> Infallible {
    let mut sweep = Sweep::default();
    let mut is_failing = false;
    loop {
        let swept = sweep.round(&removals).await;
        if let (Err(unavailable), false) = (&swept, is_failing) {
            tracing::warn!(%unavailable, "the list of erasures in progress cannot be read");
        }
        is_failing = swept.is_err();
        sleep(jittered(SWEEP_EVERY)).await;
    }
}

/// What a writer has seen of the entries of others.
#[derive(Debug, Default)]
struct Sweep {
    /// Where the last round ended.
    after: Sequence,
    /// Since when each entry is as it is.
    seen: HashMap<ConversationKey, (Sequence, Instant)>,
}

impl Sweep {
    async fn round(&mut self, removals: &Removals) -> Result<(), Unavailable> {
        let record = &removals.0.record;
        let count = record.count_pending_erasures().await?;
        if count == 0 {
            *self = Self::default();
            metrics::pending_erasures(0, Duration::ZERO);
            return Ok(());
        }
        let entries = record
            .pending_erasures(self.after, SWEPT_ENTRIES_MAX)
            .await?;
        let is_whole = self.after == Sequence(0) && entries.len() < SWEPT_ENTRIES_MAX;
        self.after = match entries.last() {
            Some(last) if entries.len() == SWEPT_ENTRIES_MAX => last.revision,
            _ => Sequence(0),
        };
        let now = Timestamp(removals.0.clock.now_nanos());
        metrics::pending_erasures(count, oldest(&entries, now));
        if is_whole {
            let listed = |key: &ConversationKey| entries.iter().any(|entry| entry.key == *key);
            self.seen.retain(|key, _| listed(key));
        }
        for entry in entries {
            if self.is_due(&entry, removals.0.holder, Instant::now())
                && !removals.is_active(&entry.key)
            {
                // What has no place here waits for the next round.
                let _heard = removals.spawn(entry.key);
            }
        }
        Ok(())
    }

    /// Whether an entry is this writer's to carry out: its own, or one that its holder has let go of.
    fn is_due(&mut self, entry: &PendingErasure, own: Uuid, now: Instant) -> bool {
        if entry.holder == own {
            return true;
        }
        let seen = self
            .seen
            .entry(entry.key.clone())
            .or_insert((entry.revision, now));
        if seen.0 != entry.revision {
            *seen = (entry.revision, now);
        }
        now.saturating_duration_since(seen.1) >= TAKEOVER_AFTER
    }
}

/// How long the oldest of some erasures is in progress.
fn oldest(entries: &[PendingErasure], now: Timestamp) -> Duration {
    let begun = entries.iter().map(|entry| entry.begun_at).min();
    let nanos = begun.map_or(0, |begun| now.0.saturating_sub(begun.0).max(0));
    Duration::from_nanos(nanos.unsigned_abs())
}

/// So that writers that began together do not all read at once.
fn jittered(every: Duration) -> Duration {
    rand::random_range(every.mul_f64(0.75)..=every.mul_f64(1.25))
}

#[cfg(test)]
mod tests {
    use domain::{ConversationId, TenantId};

    use super::*;

    #[test]
    fn an_entry_of_another_is_due_once_it_has_not_changed_for_long_enough() {
        let (own, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let entry = |holder: Uuid, revision: u64| PendingErasure {
            key: ConversationKey {
                tenant: TenantId::parse("acme").unwrap(),
                conversation: ConversationId::parse("c").unwrap(),
            },
            behind: Sequence(1),
            begun_at: Timestamp(0),
            holder,
            written_at: Timestamp(0),
            revision: Sequence(revision),
        };
        let began = Instant::now();
        let mut sweep = Sweep::default();
        let mut check = |entry: &PendingErasure, after: Duration, expected: bool| {
            assert_eq!(
                sweep.is_due(entry, own, began + after),
                expected,
                "{after:?}"
            );
        };
        let nearly = TAKEOVER_AFTER.saturating_sub(Duration::from_nanos(1));
        check(&entry(own, 1), Duration::ZERO, true);
        check(&entry(other, 1), Duration::ZERO, false);
        check(&entry(other, 1), nearly, false);
        check(&entry(other, 1), TAKEOVER_AFTER, true);
        // Written again: its holder lives.
        check(&entry(other, 2), TAKEOVER_AFTER, false);
        check(&entry(other, 2), TAKEOVER_AFTER + nearly, false);
        check(&entry(other, 2), TAKEOVER_AFTER * 2, true);
    }
}
