//! Whether the rows of a database may be used.
//!
//! A guarded handle runs no statement until its rows were compared with the record, and none while both differ.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::error::ReadModelError;
use crate::model::ReadModel;

const UNGUARDED: u8 = 0;
const NOT_COMPARED: u8 = 1;
const ADMITTED: u8 = 2;
const REFUSED: u8 = 3;

/// The state, which the handles of a database share.
#[derive(Debug)]
pub(crate) struct Admission(AtomicU8);

impl Default for Admission {
    fn default() -> Self {
        Self(AtomicU8::new(UNGUARDED))
    }
}

impl Admission {
    /// # Errors
    /// [`ReadModelError::Diverged`]; [`ReadModelError::Unavailable`] before the first comparison.
    pub(crate) fn check(&self) -> Result<(), ReadModelError> {
        match self.0.load(Ordering::Acquire) {
            REFUSED => Err(ReadModelError::Diverged),
            NOT_COMPARED => Err(ReadModelError::unavailable("its rows are not compared with the record yet")),
            _ => Ok(()),
        }
    }
}

impl ReadModel {
    /// Guards this handle and those that share its connections, and those of its shards: no statement runs until [`ReadModel::admit`].
    pub fn guard(&self) {
        self.set_admission(NOT_COMPARED);
    }

    /// The rows were compared with the record, and belong to it.
    pub fn admit(&self) {
        self.set_admission(ADMITTED);
    }

    /// The rows do not belong to the record: nothing is read or written until [`ReadModel::admit`].
    pub fn refuse(&self) {
        self.set_admission(REFUSED);
    }

    /// A handle with the same connections that is not guarded: for comparisons, migrations and health checks.
    #[must_use]
    pub fn unguarded(&self) -> Self {
        let shards = self.shards.iter().map(Self::unguarded).collect();
        Self { admission: std::sync::Arc::default(), shards, ..self.clone() }
    }

    fn set_admission(&self, state: u8) {
        for database in std::iter::once(self).chain(self.shards.iter()) {
            database.admission.0.store(state, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ReadModelConfig;

    #[test]
    fn a_guarded_handle_and_its_clones_wait_for_a_comparison() {
        let model = ReadModel::connect_lazy(&ReadModelConfig::default()).unwrap();
        let (clone, unguarded) = (model.for_search(), model.unguarded());
        let check = |step: fn(&ReadModel), is_open: bool| {
            step(&model);
            assert_eq!((model.admission.check().is_ok(), clone.admission.check().is_ok()), (is_open, is_open));
            assert_eq!(unguarded.admission.check(), Ok(()));
        };
        check(|_| {}, true);
        check(ReadModel::guard, false);
        check(ReadModel::admit, true);
        check(ReadModel::refuse, false);
        assert_eq!(model.admission.check(), Err(ReadModelError::Diverged));
        check(ReadModel::admit, true);
    }
}
