//! What happens on one connection: open exchanges, blocked writes, and the decision to close it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::super::close_reason::CloseReason;
use super::Exchange;

const OPEN: u8 = 0;
const CLOSE_WRITE_TIMEOUT: u8 = 1;
const CLOSE_PREEMPTED: u8 = 2;

/// What happens on one connection; its parts share it.
#[derive(Debug)]
pub(crate) struct Activity {
    state: Mutex<State>,
    close: AtomicU8,
    closing: Notify,
}

#[derive(Debug)]
struct State {
    exchanges: usize,
    /// Whether a request ever arrived.
    used: bool,
    /// Since when no exchange is open.
    idle_since: Instant,
    /// Since when the socket takes no more bytes.
    blocked_since: Option<Instant>,
    /// Exchanges whose response is in the hands of the transport, the oldest first.
    flushing: VecDeque<Weak<Exchange>>,
}

impl Activity {
    pub(in crate::net) fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                exchanges: 0,
                used: false,
                idle_since: Instant::now(),
                blocked_since: None,
                flushing: VecDeque::new(),
            }),
            close: AtomicU8::new(OPEN),
            closing: Notify::new(),
        })
    }

    pub(super) fn opened(&self) {
        let mut state = self.state();
        state.exchanges += 1;
        state.used = true;
    }

    pub(super) fn closed(&self) {
        let mut state = self.state();
        state.exchanges = state.exchanges.saturating_sub(1);
        if state.exchanges == 0 {
            state.idle_since = Instant::now();
        }
    }

    /// The socket takes no more bytes, or takes them again.
    pub(in crate::net) fn blocked(&self, blocked: bool) {
        self.state().blocked_since = blocked.then(Instant::now);
    }

    /// Watches an exchange that no task of its own watches.
    pub(super) fn flushes(&self, exchange: &Arc<Exchange>) {
        let mut state = self.state();
        state.forget_flushed();
        state.flushing.push_back(Arc::downgrade(exchange));
    }

    /// Asks for the end of the connection.
    pub(super) fn close(&self, reason: CloseReason) {
        let code = if reason == CloseReason::Preempted {
            CLOSE_PREEMPTED
        } else {
            CLOSE_WRITE_TIMEOUT
        };
        self.close.store(code, Ordering::Release);
        self.closing.notify_one();
    }

    /// Waits until somebody asks for the end.
    pub(in crate::net) async fn closing(&self) -> CloseReason {
        loop {
            match self.close.load(Ordering::Acquire) {
                CLOSE_WRITE_TIMEOUT => return CloseReason::WriteTimeout,
                CLOSE_PREEMPTED => return CloseReason::Preempted,
                _ => self.closing.notified().await,
            }
        }
    }

    pub(in crate::net) fn is_used(&self) -> bool {
        self.state().used
    }

    /// For how long nothing has been open.
    pub(in crate::net) fn idle_for(&self) -> Option<Duration> {
        let state = self.state();
        (state.exchanges == 0).then(|| state.idle_since.elapsed())
    }

    /// Whether bytes have waited for the client for longer than `timeout`, in the socket or in a response.
    pub(in crate::net) fn is_stalled(&self, timeout: Duration) -> bool {
        let mut state = self.state();
        state.forget_flushed();
        if state
            .blocked_since
            .is_some_and(|since| since.elapsed() >= timeout)
        {
            return true;
        }
        let flushing: Vec<_> = state.flushing.iter().filter_map(Weak::upgrade).collect();
        // Exchanges that are dropped here take the lock.
        drop(state);
        flushing
            .iter()
            .any(|exchange| exchange.unsent() > 0 && exchange.progress().elapsed() >= timeout)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn forget_flushed(&mut self) {
        while let Some(first) = self.flushing.front()
            && first.strong_count() == 0
        {
            self.flushing.pop_front();
        }
    }
}
