//! One request and its response, as the connection sees them: what is unsent, which slot they hold, and their interruption.
//!
//! Shared by the task that serves the request, by the bodies in both directions, and by each piece of the response that the
//! transport has not written yet. The slot is freed when the last of them is dropped.

mod activity;
mod slots;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures::task::AtomicWaker;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::close_reason::CloseReason;
use slots::WaitKey;

pub(super) use activity::Activity;
pub(crate) use slots::{NamedSlots, Slot, Slots};

/// Why an exchange ends before its response is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interruption {
    /// Another exchange needed the slot while this one waited for its client.
    Preempted,
    /// The body of the request made no progress.
    BodyStalled,
}

/// One request and its response.
#[derive(Debug)]
pub(crate) struct Exchange {
    connection: Arc<Activity>,
    /// Whether it is a stream of HTTP/2, in a task of its own.
    multiplexed: bool,
    task: AtomicWaker,
    answered: AtomicBool,
    unsent: AtomicUsize,
    place: Mutex<Place>,
}

#[derive(Debug)]
struct Place {
    slot: Option<Slot>,
    waiting: Option<WaitKey>,
    /// When the transport last took a piece, or was given one after a pause.
    progress: Instant,
    interruption: Option<Interruption>,
}

impl Exchange {
    pub(super) fn new(connection: Arc<Activity>, multiplexed: bool) -> Arc<Self> {
        connection.opened();
        Arc::new(Self {
            connection,
            multiplexed,
            task: AtomicWaker::new(),
            answered: AtomicBool::new(false),
            unsent: AtomicUsize::new(0),
            place: Mutex::new(Place {
                slot: None,
                waiting: None,
                progress: Instant::now(),
                interruption: None,
            }),
        })
    }

    /// Holds `slot` until the response is sent; a slot held before is freed.
    pub(crate) fn occupy(&self, slot: Slot) {
        let freed = {
            let mut place = self.place();
            place.stop_waiting();
            place.slot.replace(slot)
        };
        drop(freed);
    }

    /// Frees the slot before the response is sent.
    pub(crate) fn vacate(&self) {
        let freed = {
            let mut place = self.place();
            place.stop_waiting();
            place.slot.take()
        };
        drop(freed);
    }

    /// Ready once the exchange is interrupted. For the layer that can still answer, or end the response.
    pub(crate) fn poll_interrupted(&self, cx: &mut Context<'_>) -> Poll<Interruption> {
        self.task.register(cx.waker());
        self.interruption().map_or(Poll::Pending, Poll::Ready)
    }

    pub(super) fn register(&self, cx: &Context<'_>) {
        self.task.register(cx.waker());
    }

    /// Whether the response has begun and must be broken off.
    pub(super) fn must_reset(&self) -> bool {
        self.answered.load(Ordering::Acquire) && self.interruption().is_some()
    }

    /// The response has begun.
    pub(super) fn answer(self: &Arc<Self>) {
        self.answered.store(true, Ordering::Release);
        if !self.multiplexed {
            self.connection.flushes(self);
        }
    }

    /// The task of the stream has ended; what is unsent is in the hands of the transport.
    pub(super) fn flush(self: &Arc<Self>) {
        if self.unsent() > 0 {
            self.connection.flushes(self);
        }
    }

    pub(super) fn unsent(&self) -> usize {
        self.unsent.load(Ordering::Acquire)
    }

    /// When the client last took something, or was first offered it.
    pub(super) fn progress(&self) -> Instant {
        self.place().progress
    }

    /// The transport was given a piece of the response.
    pub(super) fn handed(self: &Arc<Self>) {
        self.unsent.fetch_add(1, Ordering::AcqRel);
        self.waits();
    }

    /// The transport has written a piece, or dropped it.
    pub(super) fn taken(self: &Arc<Self>) {
        if self.unsent.fetch_sub(1, Ordering::AcqRel) > 1 {
            self.waits();
        } else {
            self.resumes();
        }
    }

    /// The server needs more of the request. While some of the response is unsent, that alone decides.
    pub(super) fn awaits_body(self: &Arc<Self>) {
        if self.unsent() == 0 {
            self.waits();
        }
    }

    /// More of the request has arrived.
    pub(super) fn received(&self) {
        if self.unsent() == 0 {
            self.resumes();
        }
    }

    /// From now on only the client can end the wait.
    fn waits(self: &Arc<Self>) {
        let mut place = self.place();
        place.stop_waiting();
        place.progress = Instant::now();
        place.waiting = place
            .slot
            .as_ref()
            .map(|slot| slot.wait(Arc::downgrade(self)));
    }

    /// The client did its part.
    fn resumes(&self) {
        self.place().stop_waiting();
    }

    /// Ends the exchange: by a response where none has begun, else by a reset of its stream or the end of its connection.
    pub(super) fn interrupt(&self, why: Interruption) {
        self.place().interruption = Some(why);
        self.task.wake();
        if !self.multiplexed && self.answered.load(Ordering::Acquire) {
            self.connection.close(CloseReason::Preempted);
        }
    }

    /// Gives the slot up for another exchange.
    pub(super) fn preempt(&self) -> Option<OwnedSemaphorePermit> {
        let slot = {
            let mut place = self.place();
            place.waiting = None;
            place.slot.take()
        };
        let permit = slot.and_then(Slot::into_permit)?;
        self.interrupt(Interruption::Preempted);
        Some(permit)
    }

    fn interruption(&self) -> Option<Interruption> {
        self.place().interruption
    }

    fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    fn stop_waiting(&mut self) {
        if let (Some(key), Some(slot)) = (self.waiting.take(), &self.slot) {
            slot.resume(&key);
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let place = self.place.get_mut();
        place.unwrap_or_else(PoisonError::into_inner).stop_waiting();
        self.connection.closed();
    }
}
