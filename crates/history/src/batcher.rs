//! Combines concurrent calls into batches.
//!
//! A call runs alone while a slot is free. Otherwise it waits until a call or a batch ends.
//! Then the waiting calls run as one batch. So a batch forms only from calls that had to wait, and no call waits for a batch
//! to fill. A slow one gives up its slot, so that it does not delay the others.

use std::collections::VecDeque;
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// The bounds of a batcher.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Maximum number of calls that run alone, and of batches.
    pub(crate) slots: usize,
    /// Maximum number of calls of a batch.
    pub(crate) batch_calls: usize,
    /// A call or a batch that takes longer gives up its slot.
    pub(crate) slot_time: Duration,
}

/// Runs a batch: the calls share the key, and the answers are in the order of the calls.
type Execute<K, C, A> = dyn Fn(K, Vec<C>) -> BoxFuture<'static, Vec<A>> + Send + Sync;

/// Combines concurrent calls with equal keys. Clones share it.
pub(crate) struct Batcher<K, C, A>(Arc<Shared<K, C, A>>);

struct Shared<K, C, A> {
    bounds: Bounds,
    execute: Box<Execute<K, C, A>>,
    queue: Mutex<Queue<K, C, A>>,
}

struct Queue<K, C, A> {
    /// Calls that run alone, and batches.
    in_flight: usize,
    /// Each belongs to a caller that waits, so the admission of callers bounds their number.
    waiting: VecDeque<Waiting<K, C, A>>,
}

/// Calls with one key, and the channels to their callers, in the same order.
struct Batch<K, C, A> {
    key: K,
    calls: Vec<C>,
    answers: Vec<oneshot::Sender<A>>,
}

struct Waiting<K, C, A> {
    key: K,
    call: C,
    answer: oneshot::Sender<A>,
}

impl<K, C, A> Batcher<K, C, A>
where
    K: PartialEq + Send + 'static,
    C: Send + 'static,
    A: Send + 'static,
{
    /// A batcher. `execute` runs a batch.
    pub(crate) fn new(
        bounds: Bounds,
        execute: impl Fn(K, Vec<C>) -> BoxFuture<'static, Vec<A>> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Shared {
            bounds,
            execute: Box::new(execute),
            queue: Mutex::new(Queue { in_flight: 0, waiting: VecDeque::new() }),
        }))
    }

    /// Runs a call: `alone`, or in a batch as `call`. `None`: the batch ended without an answer, since the process is shutting down.
    pub(crate) async fn run(&self, call: impl FnOnce() -> (K, C), alone: impl Future<Output = A>) -> Option<A> {
        match self.admit(call) {
            Ok(slot) => Some(slot.run(alone).await),
            Err(answer) => answer.await.ok(),
        }
    }

    /// A slot, or the answer that the call waits for.
    fn admit(&self, call: impl FnOnce() -> (K, C)) -> Result<Slot<K, C, A>, oneshot::Receiver<A>> {
        let mut queue = self.0.queue();
        if queue.in_flight < self.0.bounds.slots {
            queue.in_flight += 1;
            return Ok(Slot(Arc::clone(&self.0)));
        }
        let (key, call) = call();
        let (answer, receiver) = oneshot::channel();
        queue.waiting.push_back(Waiting { key, call, answer });
        Err(receiver)
    }
}

impl<K: PartialEq, C, A> Shared<K, C, A> {
    fn queue(&self) -> MutexGuard<'_, Queue<K, C, A>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The batch that takes over the slot of a call or a batch that ended; `None`: no call waits, and the slot is free.
    fn next_batch(&self) -> Option<Batch<K, C, A>> {
        let mut queue = self.queue();
        let batch = queue.take_batch(self.bounds.batch_calls);
        if batch.is_none() {
            queue.in_flight -= 1;
        }
        batch
    }
}

impl<K: PartialEq, C, A> Queue<K, C, A> {
    /// Removes the first call and the next ones with its key. Calls whose callers left are dropped.
    fn take_batch(&mut self, calls_max: usize) -> Option<Batch<K, C, A>> {
        self.waiting.retain(|waiting| !waiting.answer.is_closed());
        let first = self.waiting.pop_front()?;
        let (mut calls, mut answers) = (vec![first.call], vec![first.answer]);
        for waiting in std::mem::take(&mut self.waiting) {
            if calls.len() < calls_max && waiting.key == first.key {
                calls.push(waiting.call);
                answers.push(waiting.answer);
            } else {
                self.waiting.push_back(waiting);
            }
        }
        Some(Batch { key: first.key, calls, answers })
    }
}

/// The right to run a call or a batch. When it is dropped, the waiting calls run.
struct Slot<K, C, A>(Arc<Shared<K, C, A>>)
where
    K: PartialEq + Send + 'static,
    C: Send + 'static,
    A: Send + 'static;

impl<K, C, A> Slot<K, C, A>
where
    K: PartialEq + Send + 'static,
    C: Send + 'static,
    A: Send + 'static,
{
    /// Runs a call or a batch in this slot, for at most [`Bounds::slot_time`], and then without it.
    async fn run<T>(self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        if let Ok(output) = timeout(self.0.bounds.slot_time, &mut work).await {
            return output;
        }
        drop(self);
        work.await
    }
}

impl<K, C, A> Drop for Slot<K, C, A>
where
    K: PartialEq + Send + 'static,
    C: Send + 'static,
    A: Send + 'static,
{
    fn drop(&mut self) {
        let (Some(batch), Ok(runtime)) = (self.0.next_batch(), Handle::try_current()) else {
            return;
        };
        let slot = Self(Arc::clone(&self.0));
        runtime.spawn(async move {
            let execution = (slot.0.execute)(batch.key, batch.calls);
            let results = slot.run(execution).await;
            for (answer, result) in batch.answers.into_iter().zip(results) {
                // The caller may have left.
                let _ = answer.send(result);
            }
        });
    }
}

impl<K, C, A> Clone for Batcher<K, C, A> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K, C, A> fmt::Debug for Batcher<K, C, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batcher").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
