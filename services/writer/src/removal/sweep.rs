//! The sweep over the list of pending erasures: it runs the removals of this writer, and takes over those of dead writers.

use std::collections::HashMap;
use std::convert::Infallible;
use std::time::Duration;

use domain::{ConversationKey, Sequence, Timestamp};
use event_log::{PendingErasure, Unavailable};
use runtime::every::every;
use tokio::time::Instant;
use uuid::Uuid;

use super::{Removals, SWEEP_INTERVAL, TAKEOVER_AFTER};
use crate::metrics;

/// Maximum number of entries of one sweep; the next sweep continues after them.
pub(super) const SWEPT_ENTRIES_MAX: usize = 256;

/// Sweeps at each interval; never returns.
pub(super) async fn run(removals: Removals) -> Infallible {
    let mut sweep = Sweep::default();
    let mut is_failing = false;
    let mut rounds = every(SWEEP_INTERVAL);
    loop {
        rounds.next().await;
        let swept = sweep.round(&removals).await;
        if let (Err(unavailable), false) = (&swept, is_failing) {
            tracing::warn!(%unavailable, "the list of pending erasures cannot be read");
        }
        is_failing = swept.is_err();
    }
}

/// The state of the sweeps of one writer.
#[derive(Debug, Default)]
struct Sweep {
    /// The revision at which the last round ended.
    after: Sequence,
    /// The revision of each entry, and when it was first seen.
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
        let entries = record.pending_erasures(self.after, SWEPT_ENTRIES_MAX).await?;
        let is_whole = self.after == Sequence(0) && entries.len() < SWEPT_ENTRIES_MAX;
        self.after = next_after(&entries, SWEPT_ENTRIES_MAX);
        let now = Timestamp(removals.0.clock.now_nanos());
        metrics::pending_erasures(count, oldest(&entries, now));
        if is_whole {
            let listed = |key: &ConversationKey| entries.iter().any(|entry| entry.key == *key);
            self.seen.retain(|key, _| listed(key));
        }
        for entry in entries {
            if self.is_due(&entry, removals.0.holder, Instant::now()) && !removals.is_active(&entry.key) {
                // If too many removals wait, the next round starts it.
                let _done = removals.spawn(entry.key);
            }
        }
        Ok(())
    }

    /// Whether this writer runs the removal of an entry: it is the holder, or the holder has not renewed the entry.
    fn is_due(&mut self, entry: &PendingErasure, own: Uuid, now: Instant) -> bool {
        if entry.holder == own {
            return true;
        }
        let seen = self.seen.entry(entry.key.clone()).or_insert((entry.revision, now));
        if seen.0 != entry.revision {
            *seen = (entry.revision, now);
        }
        now.saturating_duration_since(seen.1) >= TAKEOVER_AFTER
    }
}

/// The revision after which the next round reads; 0 after the last page. `entries_max`: the size of a page.
fn next_after(entries: &[PendingErasure], entries_max: usize) -> Sequence {
    match entries.last() {
        Some(last) if entries.len() == entries_max => last.revision,
        _ => Sequence(0),
    }
}

/// The age of the oldest erasure.
fn oldest(entries: &[PendingErasure], now: Timestamp) -> Duration {
    let begun = entries.iter().map(|entry| entry.begun_at).min();
    let nanos = begun.map_or(0, |begun| now.0.saturating_sub(begun.0).max(0));
    Duration::from_nanos(nanos.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use domain::{ConversationId, TenantId};

    use super::*;

    fn entry(holder: Uuid, revision: u64) -> PendingErasure {
        PendingErasure {
            key: ConversationKey {
                tenant: TenantId::parse("acme").unwrap(),
                conversation: ConversationId::parse("c").unwrap(),
            },
            behind: Sequence(1),
            begun_at: Timestamp(0),
            holder,
            written_at: Timestamp(0),
            revision: Sequence(revision),
        }
    }

    #[test]
    fn a_round_continues_after_a_full_page() {
        let entries: Vec<PendingErasure> = [4, 6, 9].map(|revision| entry(Uuid::nil(), revision)).into();
        assert_eq!(next_after(&entries, 3), Sequence(9));
        assert_eq!(next_after(&entries, 4), Sequence(0));
        assert_eq!(next_after(&[], 3), Sequence(0));
    }

    #[test]
    fn the_oldest_erasure_began_first() {
        let begun = |at: i64| PendingErasure { begun_at: Timestamp(at), ..entry(Uuid::nil(), 1) };
        let check = |entries: &[PendingErasure], expected_ns: u64| {
            assert_eq!(oldest(entries, Timestamp(100)), Duration::from_nanos(expected_ns));
        };
        check(&[], 0);
        check(&[begun(70), begun(30), begun(90)], 70);
        // The clock of another writer may be ahead.
        check(&[begun(101)], 0);
    }

    #[test]
    fn an_entry_of_another_writer_is_due_without_a_renewal() {
        let (own, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let start = Instant::now();
        let mut sweep = Sweep::default();
        let mut check = |entry: &PendingErasure, after: Duration, expected: bool| {
            let due = sweep.is_due(entry, own, start + after);
            assert_eq!(due, expected, "{after:?}");
        };
        let nearly = TAKEOVER_AFTER.saturating_sub(Duration::from_nanos(1));
        check(&entry(own, 1), Duration::ZERO, true);
        check(&entry(other, 1), Duration::ZERO, false);
        check(&entry(other, 1), nearly, false);
        check(&entry(other, 1), TAKEOVER_AFTER, true);
        // Renewed: its holder is alive.
        check(&entry(other, 2), TAKEOVER_AFTER, false);
        check(&entry(other, 2), TAKEOVER_AFTER + nearly, false);
        check(&entry(other, 2), TAKEOVER_AFTER * 2, true);
    }
}
