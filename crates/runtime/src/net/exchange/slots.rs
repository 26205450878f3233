//! Concurrency slots of a server: a bound on calls at work, and which of them wait for their client.
//!
//! A slot whose client neither sends nor takes bytes is free for the taking: when all slots are in use, the exchange that has
//! waited longest loses its slot to a new one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::Exchange;

/// When an exchange began to wait for its client, and its number among those of the same moment.
pub(super) type WaitKey = (Instant, u64);

/// The kinds of slots of a server, each with its name in readiness.
pub(crate) type NamedSlots = Vec<(&'static str, Arc<Slots>)>;

/// A bounded number of slots of one kind.
#[derive(Debug)]
pub(crate) struct Slots {
    kind: &'static str,
    max: usize,
    preempt_after: Duration,
    permits: Arc<Semaphore>,
    waiting: Mutex<BTreeMap<WaitKey, Weak<Exchange>>>,
    numbers: AtomicU64,
    full_since: Mutex<Option<Instant>>,
}

/// One slot in use; dropping it frees the slot.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: Arc<Slots>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Slots {
    /// `kind` is the name in metrics and readiness, such as `requests`.
    pub(crate) fn new(kind: &'static str, max: usize, preempt_after: Duration) -> Arc<Self> {
        Arc::new(Self {
            kind,
            max,
            preempt_after,
            permits: Arc::new(Semaphore::new(max)),
            waiting: Mutex::default(),
            numbers: AtomicU64::new(0),
            full_since: Mutex::default(),
        })
    }

    pub(crate) const fn kind(&self) -> &'static str {
        self.kind
    }

    pub(crate) const fn max(&self) -> usize {
        self.max
    }

    pub(crate) fn used(&self) -> usize {
        self.max.saturating_sub(self.permits.available_permits())
    }

    /// Since when no slot has been freed while all are in use; `None` while one is free, or free for the taking.
    pub(crate) fn full_since(&self) -> Option<Instant> {
        let full_since = *lock(&self.full_since);
        let waiting = lock(&self.waiting);
        let oldest = waiting.first_key_value().map(|((since, _), _)| since);
        let is_free = oldest.is_some_and(|since| since.elapsed() >= self.preempt_after);
        full_since.filter(|_| !is_free)
    }

    /// A free slot, or that of the exchange that has waited longest for its client, at least `preempt_after`; `None` when all
    /// are at work.
    pub(crate) fn acquire(self: &Arc<Self>) -> Option<Slot> {
        let free = Arc::clone(&self.permits).try_acquire_owned().ok();
        let permit = match free {
            Some(permit) => {
                if self.permits.available_permits() == 0 {
                    *lock(&self.full_since) = Some(Instant::now());
                }
                permit
            }
            None => self.preempt()?,
        };
        Some(Slot {
            slots: Arc::clone(self),
            permit: Some(permit),
        })
    }

    fn preempt(&self) -> Option<OwnedSemaphorePermit> {
        loop {
            let victim = {
                let mut waiting = lock(&self.waiting);
                let oldest = waiting.first_entry()?;
                if oldest.key().0.elapsed() < self.preempt_after {
                    return None;
                }
                oldest.remove()
            };
            let permit = victim.upgrade().and_then(|exchange| exchange.preempt());
            if let Some(permit) = permit {
                *lock(&self.full_since) = Some(Instant::now());
                metrics::counter!("server_slots_preempted_total", "slots" => self.kind)
                    .increment(1);
                return Some(permit);
            }
        }
    }

    fn wait(&self, exchange: Weak<Exchange>) -> WaitKey {
        let key = (Instant::now(), self.numbers.fetch_add(1, Ordering::Relaxed));
        lock(&self.waiting).insert(key, exchange);
        key
    }

    fn resume(&self, key: &WaitKey) {
        // What is removed may be the last of its allocation, and is dropped after the lock.
        let removed = lock(&self.waiting).remove(key);
        drop(removed);
    }
}

impl Slot {
    /// Lists the exchange that holds this slot as waiting for its client from now on.
    pub(super) fn wait(&self, exchange: Weak<Exchange>) -> WaitKey {
        self.slots.wait(exchange)
    }

    /// Takes the exchange off the list.
    pub(super) fn resume(&self, key: &WaitKey) {
        self.slots.resume(key);
    }

    /// Hands the permit to another exchange.
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

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
