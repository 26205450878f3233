//! How long a call waits for what it depends on, so that its own answer comes before the caller's deadline.

use std::future::Future;
use std::time::Duration;

use event_log::Unavailable;
use read_model::ReadModelError;
use runtime::grpc::Deadline;
use tokio::time::{Instant, timeout_at};
use wire::status::Problem;

use crate::problem;

/// Kept back from the deadline for the answer itself.
pub const ANSWER_MARGIN: Duration = Duration::from_millis(50);
/// The patience of a call without a deadline.
pub const PATIENCE_DEFAULT: Duration = Duration::from_secs(10);

/// When waiting ends.
#[derive(Debug, Clone, Copy)]
pub struct Patience(Instant);

impl Patience {
    /// As long as the deadline allows, less [`ANSWER_MARGIN`] or a quarter of what is left.
    #[must_use]
    pub fn until(deadline: Option<Deadline>) -> Self {
        let left = deadline.map_or(PATIENCE_DEFAULT, Deadline::remaining);
        Self(Instant::now() + left.saturating_sub(ANSWER_MARGIN.min(left / 4)))
    }

    /// As long as this, and `longest` at most.
    #[must_use]
    pub fn at_most(self, longest: Duration) -> Self {
        Self(self.0.min(Instant::now() + longest))
    }

    /// As long as this, less `reserve`.
    #[must_use]
    pub fn less(self, reserve: Duration) -> Self {
        Self(self.0.checked_sub(reserve).unwrap_or(self.0))
    }

    /// How much of it is left.
    #[must_use]
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Whether it is used up.
    #[must_use]
    pub fn is_over(self) -> bool {
        self.0 <= Instant::now()
    }

    /// Waits for the record.
    ///
    /// # Errors
    /// The record's error, or that it was silent.
    pub async fn record<T>(
        self,
        answer: impl Future<Output = Result<T, Unavailable>>,
    ) -> Result<T, Problem> {
        match timeout_at(self.0, answer).await {
            Ok(answer) => answer.map_err(|error| problem::of_record(&error)),
            Err(_) => Err(problem::record_silent()),
        }
    }

    /// Waits for the read model.
    ///
    /// # Errors
    /// The read model's error, or that it was silent.
    pub async fn rows<T>(
        self,
        answer: impl Future<Output = Result<T, ReadModelError>>,
    ) -> Result<T, Problem> {
        match timeout_at(self.0, answer).await {
            Ok(answer) => answer.map_err(|error| problem::of_read_model(&error)),
            Err(_) => Err(problem::read_model_silent()),
        }
    }
}
