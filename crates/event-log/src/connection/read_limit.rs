//! Limits on the reads in flight of a connection, after it was lost with many.
//!
//! nats-server closes a connection when the replies that wait for it exceed its `max_pending`. Many reads of large commits at the same
//! time cause that, and every caller of the process loses its requests. So after a loss with many reads in flight, fewer are in
//! flight for a while.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};

use crate::error::Unavailable;

/// Who answers a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// Any replica, which may lag.
    Replica,
    /// The leader, which has every acknowledged message.
    Leader,
}

/// Reads from replicas in flight while they are limited. With the largest commits, the replies of these and of those from leaders are
/// below the deployed `max_pending`.
const FROM_REPLICAS_MAX: usize = 32;
/// Reads from leaders in flight while they are limited. They have a limit of their own, since a stream without a leader delays them.
const FROM_LEADERS_MAX: usize = 16;
/// How long reads are limited.
const LIMITED: Duration = Duration::from_mins(10);

/// The limits of reads in flight of a connection.
#[derive(Debug)]
pub(crate) struct ReadLimits {
    from_replicas: ReadLimit,
    from_leaders: ReadLimit,
}

/// The limit of reads from one source.
#[derive(Debug)]
pub(crate) struct ReadLimit {
    in_flight: AtomicUsize,
    in_flight_max: usize,
    permits: Semaphore,
    limited_until: Mutex<Option<Instant>>,
}

/// A read in flight.
pub(crate) struct ReadInFlight<'a> {
    limit: &'a ReadLimit,
    _permit: Option<SemaphorePermit<'a>>,
}

impl Drop for ReadInFlight<'_> {
    fn drop(&mut self) {
        self.limit.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self { from_replicas: ReadLimit::of(FROM_REPLICAS_MAX), from_leaders: ReadLimit::of(FROM_LEADERS_MAX) }
    }
}

impl ReadLimits {
    pub(crate) fn of(&self, source: Source) -> &ReadLimit {
        match source {
            Source::Replica => &self.from_replicas,
            Source::Leader => &self.from_leaders,
        }
    }
}

impl ReadLimit {
    fn of(in_flight_max: usize) -> Self {
        Self {
            in_flight: AtomicUsize::new(0),
            in_flight_max,
            permits: Semaphore::new(in_flight_max),
            limited_until: Mutex::new(None),
        }
    }

    /// Begins a read; waits while reads are limited and too many are in flight.
    pub(crate) async fn begin(&self, deadline: Instant) -> Result<ReadInFlight<'_>, Unavailable> {
        let permit = if self.is_limited() { Some(self.permit(deadline).await?) } else { None };
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Ok(ReadInFlight { limit: self, _permit: permit })
    }

    async fn permit(&self, deadline: Instant) -> Result<SemaphorePermit<'_>, Unavailable> {
        let too_many = Unavailable::new("too many reads are in flight");
        let permit = timeout_at(deadline, self.permits.acquire()).await;
        permit.ok().and_then(Result::ok).ok_or(too_many)
    }

    fn is_limited(&self) -> bool {
        let until = self.limited_until.lock().ok().and_then(|until| *until);
        until.is_some_and(|until| Instant::now() < until)
    }

    /// Limits reads after a loss with more of them in flight.
    pub(crate) fn on_loss(&self) {
        let in_flight = self.in_flight.load(Ordering::Relaxed);
        if in_flight <= self.in_flight_max {
            return;
        }
        if !self.is_limited() {
            let (seconds, in_flight_max) = (LIMITED.as_secs(), self.in_flight_max);
            tracing::warn!(
                in_flight,
                in_flight_max,
                seconds,
                "the connection to NATS was lost with many reads in flight: fewer are in flight for a while"
            );
        }
        if let Ok(mut until) = self.limited_until.lock() {
            *until = Some(Instant::now() + LIMITED);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More reads in flight than the maximum at a loss limit later ones to the maximum.
    #[tokio::test]
    async fn reads_are_limited_after_a_loss_with_too_many() {
        let soon = || Instant::now() + Duration::from_millis(20);
        for (in_flight, is_limited) in [(2, false), (3, true)] {
            let limit = ReadLimit::of(2);
            let mut reads = Vec::new();
            for _ in 0..in_flight {
                reads.push(limit.begin(soon()).await.unwrap());
            }
            limit.on_loss();
            drop(reads);
            let first = limit.begin(soon()).await.unwrap();
            let second = limit.begin(soon()).await.unwrap();
            assert_eq!(limit.begin(soon()).await.is_err(), is_limited);
            drop((first, second));
            assert!(limit.begin(soon()).await.is_ok());
        }
    }
}
