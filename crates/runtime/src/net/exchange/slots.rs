//! Slots of a server: a limit of concurrent calls, or of the memory of their bodies, and the calls that wait for their client.
//!
//! If too few slots are free, an exchange takes those of the exchanges that have waited longest for their clients to send or read
//! bytes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::Exchange;

/// The time at which an exchange started to wait for its client, and a unique number.
pub(super) type WaitKey = (Instant, u64);

/// A bounded number of slots of one kind.
#[derive(Debug)]
pub(crate) struct Slots {
    /// The name in the readiness report: the server and the kind of slots, such as `http.requests`.
    pub(crate) name: &'static str,
    pub(crate) max: usize,
    preempt_after: Duration,
    permits: Arc<Semaphore>,
    waiting: Mutex<BTreeMap<WaitKey, Weak<Exchange>>>,
    numbers: AtomicU64,
    full_since: Mutex<Option<Instant>>,
}

/// Slots in use; dropping it releases them.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: Arc<Slots>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Slots {
    pub(crate) fn new(name: &'static str, max: usize, preempt_after: Duration) -> Arc<Self> {
        Arc::new(Self {
            name,
            max,
            preempt_after,
            permits: Arc::new(Semaphore::new(max)),
            waiting: Mutex::default(),
            numbers: AtomicU64::new(0),
            full_since: Mutex::default(),
        })
    }

    /// The name in metrics, such as `requests`.
    pub(crate) fn kind(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or_default()
    }

    pub(crate) fn used(&self) -> usize {
        self.max.saturating_sub(self.permits.available_permits())
    }

    /// The time since when all slots are in use and none was released; `None` if a slot is free or can be preempted.
    pub(crate) fn full_since(&self) -> Option<Instant> {
        let full_since = *lock(&self.full_since);
        let waiting = lock(&self.waiting);
        let oldest = waiting.first_key_value().map(|((since, _), _)| since);
        let is_free = oldest.is_some_and(|since| since.elapsed() >= self.preempt_after);
        full_since.filter(|_| !is_free)
    }

    /// Takes free slots, or the slots of the exchanges that have waited longest for their clients, at least `preempt_after`;
    /// `None` if there are too few.
    pub(crate) fn acquire(self: &Arc<Self>, count: u32) -> Option<Slot> {
        let permit = self.free(count).or_else(|| self.preempt(count))?;
        if self.permits.available_permits() == 0 {
            *lock(&self.full_since) = Some(Instant::now());
        }
        Some(Slot { slots: Arc::clone(self), permit: Some(permit) })
    }

    fn free(&self, count: u32) -> Option<OwnedSemaphorePermit> {
        let permits = Arc::clone(&self.permits);
        permits.try_acquire_many_owned(count).ok()
    }

    fn preempt(self: &Arc<Self>, count: u32) -> Option<OwnedSemaphorePermit> {
        let mut taken = self.free(0)?;
        loop {
            let missing = u32::try_from(usize_of(count).saturating_sub(taken.num_permits())).ok()?;
            if let Some(rest) = self.free(missing) {
                taken.merge(rest);
                return Some(taken);
            }
            let victim = self.longest_waiting()?.upgrade();
            if let Some(permit) = victim.and_then(|exchange| exchange.preempt(self)) {
                metrics::counter!("server_slots_preempted_total", "slots" => self.kind()).increment(1);
                taken.merge(permit);
                let excess = taken.num_permits().saturating_sub(usize_of(count));
                drop(taken.split(excess));
            }
        }
    }

    /// The exchange that has waited longest for its client, at least `preempt_after`. It is not found again.
    fn longest_waiting(&self) -> Option<Weak<Exchange>> {
        let mut waiting = lock(&self.waiting);
        let oldest = waiting.first_entry()?;
        (oldest.key().0.elapsed() >= self.preempt_after).then(|| oldest.remove())
    }
}

impl Slot {
    /// Whether the slot is one of these.
    pub(super) fn is_of(&self, slots: &Arc<Slots>) -> bool {
        Arc::ptr_eq(&self.slots, slots)
    }

    /// The number of slots.
    pub(super) fn count(&self) -> usize {
        let permit = self.permit.as_ref();
        permit.map_or(0, OwnedSemaphorePermit::num_permits)
    }

    /// Adds slots of the same kind.
    pub(super) fn merge(&mut self, other: Self) {
        match (&mut self.permit, other.into_permit()) {
            (Some(permit), Some(more)) => permit.merge(more),
            (permit @ None, more) => *permit = more,
            (Some(_), None) => {}
        }
    }

    /// Records that the exchange of this slot waits for its client from now on.
    pub(super) fn wait(&self, exchange: Weak<Exchange>) -> WaitKey {
        let number = self.slots.numbers.fetch_add(1, Ordering::Relaxed);
        let key = (Instant::now(), number);
        lock(&self.slots.waiting).insert(key, exchange);
        key
    }

    /// Records that the exchange does not wait any more.
    pub(super) fn resume(&self, key: &WaitKey) {
        // The removed value may be the last reference of an exchange: it is dropped after the lock is released.
        let removed = lock(&self.slots.waiting).remove(key);
        drop(removed);
    }

    /// The permits, for another exchange.
    pub(super) fn into_permit(mut self) -> Option<OwnedSemaphorePermit> {
        self.permit.take()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(permit) = self.permit.take() {
            drop(permit);
            *lock(&self.slots.full_since) = None;
        }
    }
}

fn usize_of(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
