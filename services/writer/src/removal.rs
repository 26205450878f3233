//! Removal: overwriting the commits of an erased conversation after its tombstone is durable.
//!
//! A call appends the tombstone and returns; the removal runs in the background. Its entry in the list of pending erasures
//! ([`event_log::PendingErasure`]) is written before the tombstone, so that it is found after a crash. Each writer reads the
//! list every [`SWEEP_INTERVAL`], and takes over an entry that its holder has not renewed for [`TAKEOVER_AFTER`]. Two writers
//! that run the same removal delete the same messages, which is slow but correct.

mod job;
#[cfg(test)]
mod model;
mod sweep;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::ConversationKey;
use event_log::{Record, Unavailable};
use runtime::clock::Clock;
use runtime::shutdown::Shutdown;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;
use uuid::Uuid;

/// Maximum number of concurrent removals of one writer.
pub(crate) const REMOVALS_IN_FLIGHT_MAX: usize = 4;
/// Maximum number of removals that run or wait in the memory of one writer; others wait in the list only.
pub(crate) const REMOVALS_WAITING_MAX: usize = 1_024;
/// Maximum wait of a call for its removal, so that the response for a short conversation reports a complete removal.
pub(crate) const ANSWER_WAIT_MAX: Duration = Duration::from_secs(1);
/// The interval of sweeps over the list of pending erasures.
pub(crate) const SWEEP_INTERVAL: Duration = Duration::from_secs(2);
/// The interval at which the holder of a removal renews its entry.
pub(crate) const RENEW_INTERVAL: Duration = Duration::from_secs(3);
/// Time without a renewal after which another writer takes over an entry.
pub(crate) const TAKEOVER_AFTER: Duration = Duration::from_secs(12);

/// The removals of one writer. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Removals(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    record: Record,
    clock: Clock,
    shutdown: Shutdown,
    holder: Uuid,
    running: Arc<Semaphore>,
    /// Conversations whose removal runs or waits in this writer.
    active: Mutex<HashSet<ConversationKey>>,
}

impl Removals {
    pub(crate) fn new(record: Record, clock: Clock, shutdown: Shutdown) -> Self {
        Self(Arc::new(Inner {
            record,
            clock,
            shutdown,
            holder: Uuid::now_v7(),
            running: Arc::new(Semaphore::new(REMOVALS_IN_FLIGHT_MAX)),
            active: Mutex::default(),
        }))
    }

    /// Starts the sweeps. They end when the shutdown begins.
    pub(crate) fn start(&self) {
        let shutdown = self.0.shutdown.clone();
        shutdown.spawn_cancellable(sweep::run(self.clone()));
    }

    /// Runs an erasure independently of its call. A shutdown waits for it. The deadlines of the erasure limit its duration.
    pub(crate) fn spawn_detached<F>(&self, erasure: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.0.shutdown.spawn(erasure)
    }

    pub(crate) fn holder(&self) -> Uuid {
        self.0.holder
    }

    /// Removes the commits before a tombstone in the background, and waits for at most [`ANSWER_WAIT_MAX`]. Returns the number
    /// of remaining commits; 0 means that the erasure is complete. If the record does not answer, the result is above 0 and not
    /// an error, since the tombstone is durable.
    pub(crate) async fn after_tombstone(&self, key: &ConversationKey) -> u64 {
        if let Ok(false) = self.is_listed(key).await {
            return 0;
        }
        if let Some(done) = self.spawn(key.clone())
            && matches!(tokio::time::timeout(ANSWER_WAIT_MAX, done).await, Ok(Ok(())))
        {
            return 0;
        }
        let commits = self.0.record.commits_of(key).await.unwrap_or(0);
        remaining(commits)
    }

    /// Whether the list has an entry. It adds an entry for a tombstone of an earlier release with commits before it.
    async fn is_listed(&self, key: &ConversationKey) -> Result<bool, Unavailable> {
        let Inner { record, holder, clock, .. } = &*self.0;
        let entry = record.pending_erasure(key).await?;
        if entry.is_some() {
            return Ok(true);
        }
        if record.commits_of(key).await? <= 1 {
            return Ok(false);
        }
        let Some(last) = record.last_from_leader(key).await? else {
            return Ok(false);
        };
        let now = domain::Timestamp(clock.now_nanos());
        record.begin_erasure(key, last.position.sequence, *holder, now).await?;
        Ok(true)
    }

    /// Runs a removal in the background, unless it already runs or too many wait. The receiver is notified of its completion.
    fn spawn(&self, key: ConversationKey) -> Option<oneshot::Receiver<()>> {
        {
            let mut active = self.active();
            if active.len() >= REMOVALS_WAITING_MAX || !active.insert(key.clone()) {
                return None;
            }
        }
        let (sender, done) = oneshot::channel();
        let active = ActiveRemoval { removals: self.clone(), key };
        self.0.shutdown.spawn_cancellable(async move {
            let permit = Arc::clone(&active.removals.0.running).acquire_owned().await;
            let is_done = job::run(&active.removals, &active.key).await;
            drop((permit, active));
            if is_done {
                // The receiver may be dropped.
                let _received = sender.send(());
            }
        });
        Some(done)
    }

    fn is_active(&self, key: &ConversationKey) -> bool {
        self.active().contains(key)
    }

    fn active(&self) -> MutexGuard<'_, HashSet<ConversationKey>> {
        // The set is consistent at every unlock.
        self.0.active.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The remaining commits of a removal that is not complete; `commits`: with the tombstone. At least 1: the entry exists until parts
/// and logged calls are removed too.
fn remaining(commits: u64) -> u64 {
    commits.saturating_sub(1).max(1)
}

/// An entry in the set of active removals. A drop, also by a shutdown, removes it.
struct ActiveRemoval {
    removals: Removals,
    key: ConversationKey,
}

impl Drop for ActiveRemoval {
    fn drop(&mut self) {
        self.removals.active().remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incomplete_removal_has_something_left() {
        for (commits, expected) in [(0, 1), (1, 1), (2, 1), (3, 2), (501, 500)] {
            assert_eq!(remaining(commits), expected, "{commits}");
        }
    }

    /// A holder that renews its entry keeps it, also if one renewal fails.
    #[test]
    fn a_holder_renews_before_others_take_over() {
        assert!(RENEW_INTERVAL * 2 < TAKEOVER_AFTER);
    }
}
