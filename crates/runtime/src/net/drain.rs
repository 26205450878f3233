//! The drain of a server in two steps: it accepts no new work, then it closes all connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::sync::{CancellationToken, DropGuard, WaitForCancellationFutureOwned};

/// The state of the drain; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Drain {
    // Reading a token takes a lock, which all calls would share.
    begun: Arc<AtomicBool>,
    begins: CancellationToken,
    cuts: CancellationToken,
}

impl Drain {
    /// Rejects new calls from now on, and ends idle streams.
    pub(crate) fn begin(&self) {
        self.begun.store(true, Ordering::Release);
        self.begins.cancel();
    }

    /// Closes all connections when dropped, also those with open calls.
    pub(crate) fn cut_on_drop(&self) -> DropGuard {
        self.cuts.clone().drop_guard()
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }

    pub(crate) fn token(&self) -> CancellationToken {
        self.begins.clone()
    }

    pub(crate) fn begins(&self) -> WaitForCancellationFutureOwned {
        self.begins.clone().cancelled_owned()
    }

    pub(crate) fn cuts(&self) -> WaitForCancellationFutureOwned {
        self.cuts.clone().cancelled_owned()
    }
}
