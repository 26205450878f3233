//! The assignments of a database as this process has read them.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use domain::TenantId;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::Instant;

use super::stored::Stored;

/// How old the known assignments are at most, except while they are read again.
const KNOWN_AGE_MAX: Duration = Duration::from_secs(10);
/// For how long a database is believed not to have the rows of a tenant.
const ABSENCE_AGE_MAX: Duration = Duration::from_secs(1);

/// The stored assignments; at first unknown. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownAssignments(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    known: RwLock<Option<Known>>,
    reading: Mutex<()>,
}

#[derive(Debug)]
struct Known {
    stored: Stored,
    read_at: Instant,
}

/// Whether a database, the first one or a shard, has the rows of a tenant, by the known assignments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HasRows {
    Yes,
    /// Yes, by assignments that are old.
    YesBefore,
    No,
    /// Nothing is known, or an old no.
    Unknown,
}

impl KnownAssignments {
    pub(crate) fn has_rows(&self, tenant: &TenantId, shard: Option<&str>) -> HasRows {
        let known = self.0.known.read().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = known.as_ref() else {
            return HasRows::Unknown;
        };
        let age = known.read_at.elapsed();
        match known.stored.has(tenant, shard) {
            true if age < KNOWN_AGE_MAX => HasRows::Yes,
            true => HasRows::YesBefore,
            false if age < ABSENCE_AGE_MAX => HasRows::No,
            false => HasRows::Unknown,
        }
    }

    /// The right to read the assignments again; `None`: another call does.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, ()>> {
        self.0.reading.try_lock().ok()
    }

    /// Waits for the right to read the assignments.
    pub(crate) async fn lock(&self) -> MutexGuard<'_, ()> {
        self.0.reading.lock().await
    }

    /// `read_at`: when the read began.
    pub(crate) fn set(&self, stored: Stored, read_at: Instant) {
        let known = Known { stored, read_at };
        *self.0.known.write().unwrap_or_else(PoisonError::into_inner) = Some(known);
    }
}

#[cfg(test)]
mod tests {
    use super::super::stored::tests::{stored, tenant};
    use super::*;

    #[test]
    fn assignments_become_old() {
        let known = KnownAssignments::default();
        let (acme, big) = (tenant("acme"), tenant("big"));
        assert_eq!(known.has_rows(&acme, None), HasRows::Unknown);
        let now = Instant::now();
        for (age_ms, yes, no) in [
            (0, HasRows::Yes, HasRows::No),
            (1_000, HasRows::Yes, HasRows::Unknown),
            (9_000, HasRows::Yes, HasRows::Unknown),
            (10_000, HasRows::YesBefore, HasRows::Unknown),
        ] {
            let read_at = now.checked_sub(Duration::from_millis(age_ms)).unwrap();
            known.set(stored(false, &[("big", "eu")]), read_at);
            assert_eq!(known.has_rows(&acme, None), yes, "{age_ms}");
            assert_eq!(known.has_rows(&big, None), no, "{age_ms}");
        }
    }
}
