//! One request and its response on a connection: unsent pieces, the slots, and the interruption.
//!
//! The task of the request, both bodies, and each unwritten piece of the response share it. Its slots are released when the last of
//! them is dropped.

mod activity;
mod slots;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures::task::AtomicWaker;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use slots::WaitKey;

pub(super) use activity::Activity;
pub(crate) use slots::{Slot, Slots};

/// The reason why an exchange ends before its response is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interruption {
    /// Another exchange took the slot while this one waited for its client.
    Preempted,
    /// The body of the request made no progress.
    BodyStalled,
    /// The bodies of all requests and responses use the memory that they may use.
    OutOfMemory,
}

/// Bytes of a body that one slot of memory allows.
const MEMORY_SLOT_BYTES: usize = 64 * 1024;

/// The slots for bodies of this total size.
pub(crate) fn memory_slots(bytes_max: usize) -> usize {
    bytes_max / MEMORY_SLOT_BYTES
}

/// One request and its response.
#[derive(Debug)]
pub(crate) struct Exchange {
    connection: Arc<Activity>,
    /// The memory of all bodies.
    memory: Arc<Slots>,
    /// Whether it is an HTTP/2 stream with its own task.
    multiplexed: bool,
    task: AtomicWaker,
    response_started: AtomicBool,
    unsent: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    slot: Held,
    memory: Held,
    /// When a piece was last queued or written.
    progress: Instant,
    interruption: Option<Interruption>,
}

/// Slots of one kind that an exchange holds.
#[derive(Debug, Default)]
struct Held {
    slot: Option<Slot>,
    /// Set while the exchange waits for its client.
    waiting: Option<WaitKey>,
}

impl Exchange {
    pub(super) fn new(connection: Arc<Activity>, multiplexed: bool, memory: Arc<Slots>) -> Arc<Self> {
        connection.exchange_opened();
        Arc::new(Self {
            connection,
            memory,
            multiplexed,
            task: AtomicWaker::new(),
            response_started: AtomicBool::new(false),
            unsent: AtomicUsize::new(0),
            state: Mutex::new(State {
                slot: Held::default(),
                memory: Held::default(),
                progress: Instant::now(),
                interruption: None,
            }),
        })
    }

    /// Holds `slot` until the response is sent; a previous slot is released.
    pub(crate) fn hold(&self, slot: Slot) {
        self.replace_slot(Some(slot));
    }

    /// Releases the slot before the response is sent.
    pub(crate) fn release(&self) {
        self.replace_slot(None);
    }

    fn replace_slot(&self, slot: Option<Slot>) {
        let previous = {
            let mut state = self.state();
            state.stop_waiting();
            std::mem::replace(&mut state.slot.slot, slot)
        };
        // Dropped after the lock is released.
        drop(previous);
    }

    /// Holds the memory of a body of this size; `false`: there is too little. The first 64 KiB of each body are not counted.
    pub(crate) fn hold_memory(&self, bytes: usize) -> bool {
        let held = self.state().memory.slot.as_ref().map_or(0, Slot::count);
        let missing = u32::try_from(memory_slots(bytes).saturating_sub(held));
        let Ok(missing @ 1..) = missing else {
            return missing.is_ok();
        };
        let Some(more) = self.memory.acquire(missing) else {
            return false;
        };
        let mut state = self.state();
        match &mut state.memory.slot {
            Some(held) => held.merge(more),
            none => *none = Some(more),
        }
        true
    }

    /// Releases the memory of the body of the request.
    pub(crate) fn release_memory(&self) {
        let previous = {
            let mut state = self.state();
            state.stop_waiting();
            state.memory.slot.take()
        };
        // Dropped after the lock is released.
        drop(previous);
    }

    /// Ready when the exchange is interrupted. For the layer that can send a response or end it.
    pub(crate) fn poll_interrupted(&self, cx: &mut Context<'_>) -> Poll<Interruption> {
        self.task.register(cx.waker());
        self.interruption().map_or(Poll::Pending, Poll::Ready)
    }

    pub(super) fn register(&self, cx: &Context<'_>) {
        self.task.register(cx.waker());
    }

    /// Whether the response has started and must be reset.
    pub(super) fn must_reset(&self) -> bool {
        self.response_started.load(Ordering::Acquire) && self.interruption().is_some()
    }

    /// Records that the response has started.
    pub(super) fn start_response(self: &Arc<Self>) {
        self.response_started.store(true, Ordering::Release);
        if !self.multiplexed {
            self.connection.watch_flush(self);
        }
    }

    /// Records that the task of the stream has ended; the transport still has the unsent pieces.
    pub(super) fn task_ended(self: &Arc<Self>) {
        if self.unsent() > 0 {
            self.connection.watch_flush(self);
        }
    }

    pub(super) fn unsent(&self) -> usize {
        self.unsent.load(Ordering::Acquire)
    }

    /// When a piece was last queued or written.
    pub(super) fn progress(&self) -> Instant {
        self.state().progress
    }

    /// Records that the transport got a piece of the response.
    pub(super) fn piece_queued(self: &Arc<Self>) {
        self.unsent.fetch_add(1, Ordering::AcqRel);
        self.start_waiting();
    }

    /// Records that the transport has written or dropped a piece.
    pub(super) fn piece_written(self: &Arc<Self>) {
        if self.unsent.fetch_sub(1, Ordering::AcqRel) > 1 {
            self.start_waiting();
        } else {
            self.state().stop_waiting();
        }
    }

    /// Records that the server waits for the body of the request. Unsent pieces of the response take precedence.
    pub(super) fn wait_for_body(self: &Arc<Self>) {
        if self.unsent() == 0 {
            self.start_waiting();
        }
    }

    /// Records that a part of the body has arrived.
    pub(super) fn body_received(&self) {
        if self.unsent() == 0 {
            self.state().stop_waiting();
        }
    }

    /// From now on the exchange waits for its client.
    fn start_waiting(self: &Arc<Self>) {
        let mut state = self.state();
        state.stop_waiting();
        state.progress = Instant::now();
        let state = &mut *state;
        for held in [&mut state.slot, &mut state.memory] {
            let slot = held.slot.as_ref();
            held.waiting = slot.map(|slot| slot.wait(Arc::downgrade(self)));
        }
    }

    /// Ends the exchange: by a response if none has started, else by a reset of its stream or the end of its connection.
    pub(super) fn interrupt(&self, reason: Interruption) {
        self.state().interruption = Some(reason);
        self.task.wake();
        if !self.multiplexed && self.response_started.load(Ordering::Acquire) {
            self.connection.close();
        }
    }

    /// Passes its slots of a kind to another exchange.
    pub(super) fn preempt(&self, slots: &Arc<Slots>) -> Option<OwnedSemaphorePermit> {
        let slot = {
            let state = &mut *self.state();
            let mut both = [&mut state.slot, &mut state.memory].into_iter();
            let held = both.find(|held| held.slot.as_ref().is_some_and(|slot| slot.is_of(slots)))?;
            held.waiting = None;
            held.slot.take()
        };
        let permit = slot.and_then(Slot::into_permit)?;
        self.interrupt(Interruption::Preempted);
        Some(permit)
    }

    fn interruption(&self) -> Option<Interruption> {
        self.state().interruption
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn stop_waiting(&mut self) {
        for held in [&mut self.slot, &mut self.memory] {
            if let (Some(key), Some(slot)) = (held.waiting.take(), &held.slot) {
                slot.resume(&key);
            }
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        state.unwrap_or_else(PoisonError::into_inner).stop_waiting();
        self.connection.exchange_closed();
    }
}
