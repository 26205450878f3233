//! Whether a connection may send requests.
//!
//! A guarded connection sends nothing after each connect until the record behind it was compared with what is known of it: the
//! servers may have been replaced, or restored from an older copy. Pure.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The admission of a connection that nobody guards.
const UNGUARDED: u64 = u64::MAX;

/// The state, which the clones of a connection share. The number of a connect starts at 1.
#[derive(Debug)]
pub(crate) struct Admission {
    /// The connect on which the record was compared; 0: none yet.
    admitted_on: AtomicU64,
    is_refused: AtomicBool,
}

/// Whether requests may be sent on a connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admitted {
    Yes,
    /// The record is being compared.
    NotYet,
    /// The record is not the one that is known.
    No,
}

impl Default for Admission {
    fn default() -> Self {
        Self { admitted_on: AtomicU64::new(UNGUARDED), is_refused: AtomicBool::new(false) }
    }
}

impl Admission {
    /// Guards the connection: from now on each connect needs [`Admission::admit`].
    pub(crate) fn guard(&self) {
        self.admitted_on.store(0, Ordering::Release);
    }

    /// The record was compared on this connect, and is the known one.
    pub(crate) fn admit(&self, connect: u64) {
        self.admitted_on.store(connect, Ordering::Release);
        self.is_refused.store(false, Ordering::Release);
    }

    /// The record is not the known one.
    pub(crate) fn refuse(&self) {
        self.is_refused.store(true, Ordering::Release);
    }

    pub(crate) fn on(&self, connect: u64) -> Admitted {
        let admitted_on = self.admitted_on.load(Ordering::Acquire);
        if self.is_refused.load(Ordering::Acquire) {
            Admitted::No
        } else if admitted_on == UNGUARDED || admitted_on == connect {
            Admitted::Yes
        } else {
            Admitted::NotYet
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guarded_connect_needs_a_comparison() {
        let admission = Admission::default();
        assert_eq!(admission.on(1), Admitted::Yes);
        admission.guard();
        assert_eq!(admission.on(1), Admitted::NotYet);
        admission.admit(1);
        assert_eq!((admission.on(1), admission.on(2)), (Admitted::Yes, Admitted::NotYet));
        admission.refuse();
        assert_eq!((admission.on(1), admission.on(2)), (Admitted::No, Admitted::No));
        admission.admit(2);
        assert_eq!((admission.on(1), admission.on(2)), (Admitted::NotYet, Admitted::Yes));
    }
}
