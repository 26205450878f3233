//! How long a call waits for record and rows, so that its own answer comes before the caller's deadline.

use std::future::Future;
use std::time::Duration;

use event_log::Unavailable;
use read_model::ReadModelError;
use runtime::grpc;
use tokio::time::{Instant, timeout_at};
use wire::status::Problem;

use crate::problem;

/// Kept back from the deadline for the answer itself.
pub const ANSWER_MARGIN: Duration = Duration::from_millis(50);
/// How long a call without a deadline waits.
pub const WAIT_DEFAULT: Duration = Duration::from_secs(10);

/// When waiting ends.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(Instant);

impl Deadline {
    /// The caller's deadline, less [`ANSWER_MARGIN`] or a quarter of what is left.
    #[must_use]
    pub fn until(caller: Option<grpc::Deadline>) -> Self {
        let left = caller.map_or(WAIT_DEFAULT, grpc::Deadline::remaining);
        Self(Instant::now() + left.saturating_sub(ANSWER_MARGIN.min(left / 4)))
    }

    /// The same, and no later than `longest` from now.
    #[must_use]
    pub fn at_most(self, longest: Duration) -> Self {
        Self(self.0.min(Instant::now() + longest))
    }

    /// The same, earlier by `reserve`.
    #[must_use]
    pub fn less(self, reserve: Duration) -> Self {
        Self(self.0.checked_sub(reserve).unwrap_or(self.0))
    }

    /// The time that is left.
    #[must_use]
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Whether it has passed.
    #[must_use]
    pub fn is_over(self) -> bool {
        self.0 <= Instant::now()
    }

    /// Waits for the record.
    ///
    /// # Errors
    /// The record's error, or `RECORD_UNAVAILABLE` at the deadline.
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
    /// The read model's error, or `READ_MODEL_UNAVAILABLE` at the deadline.
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
