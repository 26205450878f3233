//! Places that tenants share: who waits for one has it in a fair turn, within a bounded time.
//!
//! The decision is [`quotas::FairQueue`]'s; here are its lock and its waiting.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use quotas::{Entered, FairQueue};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// No place became free in time, or too many wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

/// Places that parties share. Clones share them.
#[derive(Debug, Clone)]
pub struct FairPlaces {
    queue: Arc<Mutex<FairQueue<oneshot::Sender<()>>>>,
    wait_max: Duration,
}

/// A place, for as long as it is kept.
#[derive(Debug)]
pub struct FairPlace {
    places: FairPlaces,
    party: String,
}

/// A request that waits. Dropped before its time, it gives up its turn, or the place that it was given.
#[derive(Debug)]
struct Waiting<'a> {
    places: &'a FairPlaces,
    party: &'a str,
    id: u64,
    is_over: bool,
}

impl FairPlaces {
    /// So many places; of each party, `waiting_max` may wait, each for `wait_max`.
    #[must_use]
    pub fn new(places: usize, waiting_max: usize, wait_max: Duration) -> Self {
        Self {
            queue: Arc::new(Mutex::new(FairQueue::new(places, waiting_max))),
            wait_max,
        }
    }

    /// A place for a party; waits for one where all are taken.
    ///
    /// # Errors
    /// [`Busy`].
    pub async fn take(&self, party: &str) -> Result<FairPlace, Busy> {
        let (ticket, mut turn) = oneshot::channel();
        let entered = self.queue().enter(party, ticket);
        let id = match entered {
            Entered::Now => return Ok(self.place(party)),
            Entered::Full => return Err(Busy),
            Entered::Waiting(id) => id,
        };
        let mut waiting = Waiting {
            places: self,
            party,
            id,
            is_over: false,
        };
        let is_ours = matches!(timeout(self.wait_max, &mut turn).await, Ok(Ok(())));
        if is_ours {
            waiting.is_over = true;
            return Ok(self.place(party));
        }
        Err(Busy)
    }

    /// How many requests wait for a place.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queue().waiting()
    }

    fn place(&self, party: &str) -> FairPlace {
        FairPlace {
            places: self.clone(),
            party: party.to_owned(),
        }
    }

    /// Gives a place back, to the next that still waits.
    fn leave(&self, party: &str) {
        let mut left = party.to_owned();
        loop {
            let Some((party, ticket)) = self.queue().leave(&left) else {
                return;
            };
            if ticket.send(()).is_ok() {
                return;
            }
            left = party;
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
        let was_waiting = self.places.queue().abandon(self.party, self.id);
        if !was_waiting {
            self.places.leave(self.party);
        }
    }
}

impl Drop for FairPlace {
    fn drop(&mut self) {
        self.places.leave(&self.party);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_hours(1);

    #[tokio::test]
    async fn a_place_is_waited_for_and_no_longer_than_its_bound() {
        let places = FairPlaces::new(1, 1, Duration::from_millis(20));
        let first = places.take("a").await.unwrap();
        let (second, third) = tokio::join!(places.take("a"), places.take("a"));
        assert_eq!((second.err(), third.err()), (Some(Busy), Some(Busy)));
        assert_eq!(places.waiting(), 0);
        drop(first);
        places.take("a").await.unwrap();
    }

    #[tokio::test]
    async fn a_party_waits_for_at_most_one_place_of_another() {
        let places = FairPlaces::new(1, 100, LONG);
        let held = places.take("greedy").await.unwrap();
        let greedy: Vec<_> = (0..50)
            .map(|_| {
                let places = places.clone();
                tokio::spawn(async move { places.take("greedy").await.map(drop) })
            })
            .collect();
        while places.waiting() < 50 {
            tokio::task::yield_now().await;
        }
        let other = tokio::spawn({
            let places = places.clone();
            async move { places.take("other").await }
        });
        while places.waiting() < 51 {
            tokio::task::yield_now().await;
        }
        drop(held);
        let other = other.await.unwrap().unwrap();
        // One of the greedy party's requests has had its turn in between.
        assert_eq!(places.waiting(), 49);
        drop(other);
        for taken in greedy {
            taken.await.unwrap().unwrap();
        }
        assert_eq!(places.waiting(), 0);
    }

    #[tokio::test]
    async fn who_stops_waiting_loses_no_place() {
        let places = FairPlaces::new(1, 9, LONG);
        let held = places.take("a").await.unwrap();
        let waiting = tokio::spawn({
            let places = places.clone();
            async move { places.take("b").await }
        });
        while places.waiting() < 1 {
            tokio::task::yield_now().await;
        }
        // Its turn comes at the same time as its end.
        drop(held);
        waiting.abort();
        drop(waiting.await);
        places.take("a").await.unwrap();
    }
}
