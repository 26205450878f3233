//! Whether the rows of a database may be used.
//!
//! A guarded handle runs no statement until its rows were compared with the record, and none while both differ.

use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use crate::error::ReadModelError;
use crate::model::ReadModel;

/// Maximum time that a statement waits for the first comparison.
const COMPARISON_WAIT_MAX: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Unguarded,
    NotCompared,
    Admitted,
    Refused,
}

/// The state, which the handles of a database share.
#[derive(Debug)]
pub(crate) struct Admission {
    state: watch::Sender<State>,
    /// A statement waits for the first comparison.
    wanted: Notify,
}

impl Default for Admission {
    fn default() -> Self {
        Self { state: watch::Sender::new(State::Unguarded), wanted: Notify::new() }
    }
}

impl Admission {
    /// Waits for the first comparison, and asks for it.
    ///
    /// # Errors
    /// [`ReadModelError::Diverged`]; [`ReadModelError::Unavailable`] without a comparison in [`COMPARISON_WAIT_MAX`].
    pub(crate) async fn ready(&self) -> Result<(), ReadModelError> {
        let state = *self.state.borrow();
        let state = if state == State::NotCompared { self.compared().await } else { Some(state) };
        match state {
            Some(State::Refused) => Err(ReadModelError::Diverged),
            Some(_) => Ok(()),
            None => Err(ReadModelError::unavailable("its rows are not compared with the record yet")),
        }
    }

    async fn compared(&self) -> Option<State> {
        let mut state = self.state.subscribe();
        self.wanted.notify_one();
        let compared = state.wait_for(|state| *state != State::NotCompared);
        timeout(COMPARISON_WAIT_MAX, compared).await.ok()?.ok().map(|state| *state)
    }
}

impl ReadModel {
    /// Guards this handle and those that share its connections, and those of its shards: no statement runs until [`ReadModel::admit`].
    pub fn guard(&self) {
        self.set_admission(State::NotCompared);
    }

    /// The rows were compared with the record, and belong to it.
    pub fn admit(&self) {
        self.set_admission(State::Admitted);
    }

    /// The rows do not belong to the record: nothing is read or written until [`ReadModel::admit`].
    pub fn refuse(&self) {
        self.set_admission(State::Refused);
    }

    /// A handle with the same connections that is not guarded: for comparisons, migrations and health checks.
    #[must_use]
    pub fn unguarded(&self) -> Self {
        let shards = self.shards.iter().map(Self::unguarded).collect();
        Self { admission: std::sync::Arc::default(), shards, ..self.clone() }
    }

    /// Returns when a statement waits for the first comparison of this database.
    pub async fn comparison_wanted(&self) {
        self.admission.wanted.notified().await;
    }

    fn set_admission(&self, state: State) {
        for database in std::iter::once(self).chain(self.shards.iter()) {
            database.admission.state.send_replace(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;
    use crate::config::ReadModelConfig;

    #[tokio::test]
    async fn a_guarded_handle_and_its_clones_wait_for_a_comparison() {
        let model = ReadModel::connect_lazy(&ReadModelConfig::default()).unwrap();
        let (clone, unguarded) = (model.for_search(), model.unguarded());
        let check = async |step: fn(&ReadModel), is_open: bool| {
            step(&model);
            let (of_model, of_clone) = tokio::join!(model.admission.ready(), clone.admission.ready());
            assert_eq!((of_model.is_ok(), of_clone.is_ok()), (is_open, is_open));
            assert_eq!(unguarded.admission.ready().await, Ok(()));
        };
        check(|_| {}, true).await;
        check(ReadModel::guard, false).await;
        check(ReadModel::admit, true).await;
        check(ReadModel::refuse, false).await;
        assert_eq!(model.admission.ready().await, Err(ReadModelError::Diverged));
        check(ReadModel::admit, true).await;
    }

    #[tokio::test]
    async fn a_statement_asks_for_the_first_comparison() {
        let model = ReadModel::connect_lazy(&ReadModelConfig::default()).unwrap();
        model.guard();
        assert_eq!(model.comparison_wanted().now_or_never(), None);
        let answer = async |step: fn(&ReadModel)| {
            let compare = async {
                model.comparison_wanted().await;
                step(&model);
            };
            tokio::join!(model.admission.ready(), compare).0
        };
        assert_eq!(answer(ReadModel::refuse).await, Err(ReadModelError::Diverged));
        model.guard();
        assert_eq!(answer(ReadModel::admit).await, Ok(()));
        assert_eq!(model.comparison_wanted().now_or_never(), None);
    }
}
