//! The activity of one connection: open exchanges, blocked writes, and the request to close it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Exchange;

#[derive(Debug)]
pub(crate) struct Activity {
    state: Mutex<State>,
    closing: CancellationToken,
}

#[derive(Debug)]
struct State {
    exchanges: usize,
    /// Whether a request ever arrived.
    used: bool,
    /// When the last open exchange was closed.
    idle_since: Instant,
    /// When the socket stopped accepting bytes.
    blocked_since: Option<Instant>,
    /// Exchanges whose response is in the transport, the oldest first.
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
            closing: CancellationToken::new(),
        })
    }

    pub(super) fn exchange_opened(&self) {
        let mut state = self.state();
        state.exchanges += 1;
        state.used = true;
    }

    pub(super) fn exchange_closed(&self) {
        let mut state = self.state();
        state.exchanges = state.exchanges.saturating_sub(1);
        if state.exchanges == 0 {
            state.idle_since = Instant::now();
        }
    }

    /// Records whether the socket accepts bytes.
    pub(in crate::net) fn set_blocked(&self, blocked: bool) {
        self.state().blocked_since = blocked.then(Instant::now);
    }

    /// Watches the unsent pieces of an exchange without a task.
    pub(super) fn watch_flush(&self, exchange: &Arc<Exchange>) {
        let mut state = self.state();
        state.remove_flushed();
        state.flushing.push_back(Arc::downgrade(exchange));
    }

    /// Requests that the connection is closed.
    pub(super) fn close(&self) {
        self.closing.cancel();
    }

    /// Waits for a request to close the connection.
    pub(in crate::net) async fn closing(&self) {
        self.closing.cancelled().await;
    }

    pub(in crate::net) fn is_used(&self) -> bool {
        self.state().used
    }

    /// The time since the last exchange was closed; `None` while one is open.
    pub(in crate::net) fn idle_for(&self) -> Option<Duration> {
        let state = self.state();
        (state.exchanges == 0).then(|| state.idle_since.elapsed())
    }

    /// Whether the client has read nothing for `timeout`, while the socket or a response has bytes for it.
    pub(in crate::net) fn is_stalled(&self, timeout: Duration) -> bool {
        let mut state = self.state();
        state.remove_flushed();
        if state.blocked_since.is_some_and(|since| since.elapsed() >= timeout) {
            return true;
        }
        let flushing: Vec<_> = state.flushing.iter().filter_map(Weak::upgrade).collect();
        // An exchange that is dropped below takes the lock.
        drop(state);
        flushing.iter().any(|exchange| exchange.unsent() > 0 && exchange.progress().elapsed() >= timeout)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn remove_flushed(&mut self) {
        while let Some(first) = self.flushing.front()
            && first.strong_count() == 0
        {
            self.flushing.pop_front();
        }
    }
}
