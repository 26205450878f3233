//! A semaphore that parties share fairly: waiting parties get permits in turn, within a bounded time.
//!
//! [`quotas::FairQueue`] decides the order; this module adds the lock and the waiting.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use quotas::{Entered, FairQueue};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// No permit became free in time, or too many requests wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

/// A semaphore that parties share. Clones share its permits.
#[derive(Debug, Clone)]
pub struct FairSemaphore {
    queue: Arc<Mutex<FairQueue<oneshot::Sender<()>>>>,
    wait_max: Duration,
}

/// A permit. Dropping it frees it.
#[derive(Debug)]
pub struct FairPermit {
    semaphore: FairSemaphore,
    party: String,
}

/// A waiting request. If it is dropped while it waits, it leaves the queue and frees a permit that it got meanwhile.
#[derive(Debug)]
struct Waiting<'a> {
    semaphore: &'a FairSemaphore,
    party: &'a str,
    id: u64,
    is_over: bool,
}

impl FairSemaphore {
    /// Creates a semaphore. Of each party, `waiting_max` requests may wait, each for `wait_max`.
    #[must_use]
    pub fn new(permits: usize, waiting_max: usize, wait_max: Duration) -> Self {
        Self::of(FairQueue::new(permits, waiting_max), wait_max)
    }

    /// Creates a semaphore of which each party has at most `held_max` permits. Otherwise as [`FairSemaphore::new`].
    #[must_use]
    pub fn with_held_max(permits: usize, held_max: usize, waiting_max: usize, wait_max: Duration) -> Self {
        Self::of(FairQueue::new(permits, waiting_max).with_held_max(held_max), wait_max)
    }

    fn of(queue: FairQueue<oneshot::Sender<()>>, wait_max: Duration) -> Self {
        Self { queue: Arc::new(Mutex::new(queue)), wait_max }
    }

    /// Acquires a permit for a party; waits if none is free.
    ///
    /// # Errors
    /// [`Busy`].
    pub async fn acquire(&self, party: &str) -> Result<FairPermit, Busy> {
        let (sender, mut turn) = oneshot::channel();
        let entered = self.queue().enter(party, sender);
        let id = match entered {
            Entered::Now => return Ok(self.permit(party)),
            Entered::Full => return Err(Busy),
            Entered::Waiting(id) => id,
        };
        let mut waiting = Waiting { semaphore: self, party, id, is_over: false };
        if matches!(timeout(self.wait_max, &mut turn).await, Ok(Ok(()))) {
            waiting.is_over = true;
            return Ok(self.permit(party));
        }
        Err(Busy)
    }

    /// The number of waiting requests.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queue().waiting()
    }

    fn permit(&self, party: &str) -> FairPermit {
        FairPermit { semaphore: self.clone(), party: party.to_owned() }
    }

    /// Frees a permit of a party and passes it to the next waiting request.
    fn release(&self, party: &str) {
        let mut releasing = party.to_owned();
        loop {
            let Some((next, sender)) = self.queue().leave(&releasing) else {
                return;
            };
            if sender.send(()).is_ok() {
                return;
            }
            releasing = next;
        }
    }

    fn queue(&self) -> MutexGuard<'_, FairQueue<oneshot::Sender<()>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let was_waiting = self.semaphore.queue().abandon(self.party, self.id);
        if !was_waiting {
            self.semaphore.release(self.party);
        }
    }
}

impl Drop for FairPermit {
    fn drop(&mut self) {
        self.semaphore.release(&self.party);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_hours(1);

    #[tokio::test]
    async fn waiting_has_a_bound() {
        let semaphore = FairSemaphore::new(1, 1, Duration::from_millis(20));
        let first = semaphore.acquire("a").await.unwrap();
        let (second, third) = tokio::join!(semaphore.acquire("a"), semaphore.acquire("a"));
        assert_eq!((second.err(), third.err()), (Some(Busy), Some(Busy)));
        assert_eq!(semaphore.waiting(), 0);
        drop(first);
        semaphore.acquire("a").await.unwrap();
    }

    async fn wait_for_waiting(semaphore: &FairSemaphore, count: usize) {
        while semaphore.waiting() < count {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_party_waits_for_at_most_one_permit_of_another() {
        let semaphore = FairSemaphore::new(1, 100, LONG);
        let held = semaphore.acquire("greedy").await.unwrap();
        let greedy: Vec<_> = (0..50)
            .map(|_| {
                let semaphore = semaphore.clone();
                tokio::spawn(async move { semaphore.acquire("greedy").await.map(drop) })
            })
            .collect();
        wait_for_waiting(&semaphore, 50).await;
        let other = tokio::spawn({
            let semaphore = semaphore.clone();
            async move { semaphore.acquire("other").await }
        });
        wait_for_waiting(&semaphore, 51).await;
        drop(held);
        let other = other.await.unwrap().unwrap();
        // One request of the greedy party got its turn in between.
        assert_eq!(semaphore.waiting(), 49);
        drop(other);
        for acquired in greedy {
            acquired.await.unwrap().unwrap();
        }
        assert_eq!(semaphore.waiting(), 0);
    }

    #[tokio::test]
    async fn a_request_that_stops_waiting_loses_no_permit() {
        let semaphore = FairSemaphore::new(1, 9, LONG);
        let held = semaphore.acquire("a").await.unwrap();
        let waiting = tokio::spawn({
            let semaphore = semaphore.clone();
            async move { semaphore.acquire("b").await }
        });
        wait_for_waiting(&semaphore, 1).await;
        // The request gets the permit at the same time as it is aborted.
        drop(held);
        waiting.abort();
        drop(waiting.await);
        semaphore.acquire("a").await.unwrap();
    }
}
