//! Work that one caller makes a process compute: compiling what a tenant wrote, matching it, rendering it.
//!
//! Such work is bounded, but can take seconds. It runs apart from the threads that serve requests, and parties share the processors
//! fairly: one party uses at most half of them. Work that waits is dropped with its caller.

use std::thread::available_parallelism;
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};

use crate::fair::{Busy, FairSemaphore};

/// Parties that compute at the same time, for each processor. The operating system shares the processors between them.
const PARTIES_PER_PROCESSOR: usize = 4;
/// Most waiting work of one party.
pub const WAITING_MAX: usize = 256;
/// The longest wait.
pub const WAIT_MAX: Duration = Duration::from_secs(30);

/// The processors of a process, shared by parties. Clones share them.
#[derive(Debug, Clone)]
pub struct Compute(FairSemaphore);

impl Default for Compute {
    fn default() -> Self {
        Self::new(available_parallelism().map_or(1, usize::from))
    }
}

impl Compute {
    fn new(processors: usize) -> Self {
        let of_one_party = (processors / 2).max(1);
        Self(FairSemaphore::with_held_max(processors * PARTIES_PER_PROCESSOR, of_one_party, WAITING_MAX, WAIT_MAX))
    }

    /// Does some work of a party, when its turn comes. A started work runs to its end.
    ///
    /// # Errors
    /// [`Busy`]: too much work of this party waits, or it waited for [`WAIT_MAX`].
    pub async fn run<T>(&self, party: &str, work: impl FnOnce() -> T) -> Result<T, Busy> {
        let _permit = self.0.acquire(party).await?;
        if Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread {
            // There is no other thread that could serve.
            return Ok(work());
        }
        Ok(tokio::task::block_in_place(work))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex, mpsc};

    use super::*;

    #[test]
    fn bounds_are_these_numbers() {
        assert_eq!((PARTIES_PER_PROCESSOR, WAITING_MAX, WAIT_MAX.as_secs()), (4, 256, 30));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_party_that_computes_delays_no_other() {
        static MOST: AtomicUsize = AtomicUsize::new(0);
        static NOW: AtomicUsize = AtomicUsize::new(0);
        let compute = Compute::new(2);
        let (end, ended) = mpsc::channel::<()>();
        let ended = Arc::new(Mutex::new(ended));
        let greedy: Vec<_> = (0..20)
            .map(|_| {
                let (compute, ended) = (compute.clone(), Arc::clone(&ended));
                tokio::spawn(async move {
                    let work = || {
                        MOST.fetch_max(NOW.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        // Until the test drops the sender.
                        let _ = ended.lock().unwrap().recv();
                        NOW.fetch_sub(1, Ordering::SeqCst);
                    };
                    compute.run("greedy", work).await.unwrap();
                })
            })
            .collect();
        while compute.0.waiting() < 19 {
            tokio::task::yield_now().await;
        }
        for number in 0..100 {
            assert_eq!(compute.run("other", || number).await, Ok(number));
        }
        drop(end);
        for work in greedy {
            work.await.unwrap();
        }
        assert_eq!(MOST.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn work_that_waits_ends_with_its_caller() {
        let compute = Compute::new(1);
        let held = compute.0.acquire("a").await.unwrap();
        let waiting = tokio::spawn({
            let compute = compute.clone();
            async move { compute.run("a", || panic!("its caller is gone")).await }
        });
        while compute.0.waiting() == 0 {
            tokio::task::yield_now().await;
        }
        waiting.abort();
        drop(waiting.await);
        drop(held);
        assert_eq!(compute.run("a", || 7).await, Ok(7));
    }
}
