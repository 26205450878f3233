//! The end of a server, in two steps: no new work, then no work at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// How far the end has come; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Drain {
    // Asking a token takes a lock, which every call would share.
    begun: Arc<AtomicBool>,
    begins: CancellationToken,
    cuts: CancellationToken,
}

impl Drain {
    /// New calls are refused from here on, and idle streams end.
    pub(crate) fn begin(&self) {
        self.begun.store(true, Ordering::Release);
        self.begins.cancel();
    }

    /// Connections close from here on, whatever runs on them.
    pub(crate) fn cut(&self) {
        self.cuts.cancel();
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }

    /// Cancelled once the end begins.
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

/// Cuts when dropped, so that a server whose future is dropped leaves no connection behind.
#[derive(Debug)]
pub(crate) struct CutOnDrop(pub(crate) Drain);

impl Drop for CutOnDrop {
    fn drop(&mut self) {
        self.0.cut();
    }
}
