//! Removal: overwriting what an erased conversation held, after its tombstone is durable.
//!
//! A call appends the tombstone and is answered; the removal runs detached from the call. The list of erasures in progress
//! ([`event_log::PendingErasure`]) names it from before the tombstone, so that it is found after any crash: each writer goes
//! through the list every [`SWEEP_EVERY`], and takes over an entry whose holder has not written it for [`TAKEOVER_AFTER`].
//! Two writers that carry out one removal delete the same messages: that costs time and harms nothing.

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

/// Most conversations whose commits one writer overwrites at a time.
pub const REMOVALS_IN_FLIGHT_MAX: usize = 4;
/// Most removals that wait in one writer's memory; more wait in the list alone.
pub const REMOVALS_WAITING_MAX: usize = 1_024;
/// How long a call waits for its removal, so that the answer for a short conversation says that nothing is left.
pub const ANSWER_WAIT_MAX: Duration = Duration::from_secs(1);
/// How often a writer goes through the list of erasures in progress.
pub const SWEEP_EVERY: Duration = Duration::from_secs(2);
/// How often the holder of a removal writes its entry again.
pub const RENEW_EVERY: Duration = Duration::from_secs(3);
/// For how long an entry must have stayed as it is until another writer takes it over.
pub const TAKEOVER_AFTER: Duration = Duration::from_secs(12);

/// The removals of one writer. Clones share them.
#[derive(Debug, Clone)]
pub struct Removals(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    record: Record,
    clock: Clock,
    shutdown: Shutdown,
    /// This writer, in the list.
    holder: Uuid,
    running: Arc<Semaphore>,
    /// Conversations whose removal runs or waits here.
    active: Mutex<HashSet<ConversationKey>>,
}

impl Removals {
    /// No removals yet.
    #[must_use]
    pub fn new(record: Record, clock: Clock, shutdown: Shutdown) -> Self {
        Self(Arc::new(Inner {
            record,
            clock,
            shutdown,
            holder: Uuid::now_v7(),
            running: Arc::new(Semaphore::new(REMOVALS_IN_FLIGHT_MAX)),
            active: Mutex::default(),
        }))
    }

    /// Goes through the list until the shutdown begins.
    pub fn start(&self) {
        let shutdown = self.0.shutdown.clone();
        shutdown.spawn_until_begun(sweep::keep(self.clone()));
    }

    /// Runs an erasure to its end, whatever becomes of the call that awaits it; a shutdown waits for it. Its own deadlines
    /// bound it.
    pub fn spawn_detached<F>(&self, erasure: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.0.shutdown.spawn(erasure)
    }

    /// This writer's name in the list.
    #[must_use]
    pub fn holder(&self) -> Uuid {
        self.0.holder
    }

    /// Removes what is before a tombstone that was just found or appended: in the background, waiting for at most
    /// [`ANSWER_WAIT_MAX`]. How many commits are left to overwrite; 0: the erasure is complete. The tombstone is durable,
    /// so a record that does not say what is left is no failure: something may be left then.
    pub async fn after_tombstone(&self, key: &ConversationKey) -> u64 {
        if let Ok(false) = self.is_listed(key).await {
            return 0;
        }
        if let Some(done) = self.spawn(key.clone())
            && matches!(
                tokio::time::timeout(ANSWER_WAIT_MAX, done).await,
                Ok(Ok(()))
            )
        {
            return 0;
        }
        let commits = self.0.record.commits_of(key).await.unwrap_or(0);
        // The entry is there until parts and logged calls are gone, too.
        commits.saturating_sub(1).max(1)
    }

    /// Whether the list names the conversation. A tombstone that an earlier version left with commits before it is entered.
    async fn is_listed(&self, key: &ConversationKey) -> Result<bool, Unavailable> {
        let Inner {
            record,
            holder,
            clock,
            ..
        } = &*self.0;
        let entry = record.pending_erasure(key).await?;
        if entry.is_some() {
            return Ok(true);
        }
        if record.commits_of(key).await? <= 1 {
            return Ok(false);
        }
        let last = record.last_from_leader(key).await?;
        let Some(last) = last else {
            return Ok(false);
        };
        let now = domain::Timestamp(clock.now_nanos());
        let begun = record.begin_erasure(key, last.position.sequence, *holder, now);
        begun.await?;
        Ok(true)
    }

    /// Carries out a removal in the background, unless it runs here already or too many wait. The receiver hears of its end.
    fn spawn(&self, key: ConversationKey) -> Option<oneshot::Receiver<()>> {
        {
            let mut active = self.active();
            if active.len() >= REMOVALS_WAITING_MAX || !active.insert(key.clone()) {
                return None;
            }
        }
        let (done, heard) = oneshot::channel();
        let place = ActivePlace {
            removals: self.clone(),
            key,
        };
        self.0.shutdown.spawn_until_begun(async move {
            let permit = Arc::clone(&place.removals.0.running).acquire_owned().await;
            let is_done = job::run(&place.removals, &place.key).await;
            drop((permit, place));
            if is_done {
                // The caller may be gone.
                let _heard = done.send(());
            }
        });
        Some(heard)
    }

    fn is_active(&self, key: &ConversationKey) -> bool {
        self.active().contains(key)
    }

    fn active(&self) -> MutexGuard<'_, HashSet<ConversationKey>> {
        // The set is whole at every unlock.
        self.0.active.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A conversation's place among the active ones; dropped, also by a shutdown, it is free.
struct ActivePlace {
    removals: Removals,
    key: ConversationKey,
}

impl Drop for ActivePlace {
    fn drop(&mut self) {
        self.removals.active().remove(&self.key);
    }
}
