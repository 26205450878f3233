//! The deadline of reads from record and rows, so that a call answers before the caller's deadline.

use std::future::Future;
use std::time::Duration;

use event_log::Unavailable;
use futures::future::BoxFuture;
use read_model::ReadModelError;
use runtime::grpc;
use tokio::time::{Instant, timeout_at};
use wire::status::Problem;

use crate::problem;

/// Part of the deadline that is reserved for the answer itself.
pub const ANSWER_MARGIN: Duration = Duration::from_millis(50);
/// The timeout of a call without a deadline.
pub const WAIT_DEFAULT: Duration = Duration::from_secs(10);

/// The end of waiting.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(Instant);

impl Deadline {
    /// The caller's deadline minus [`ANSWER_MARGIN`], or minus a quarter of the remaining time.
    #[must_use]
    pub fn until(caller: Option<grpc::Deadline>) -> Self {
        let left = caller.map_or(WAIT_DEFAULT, grpc::Deadline::remaining);
        Self(Instant::now() + left.saturating_sub(ANSWER_MARGIN.min(left / 4)))
    }

    /// The earlier of this deadline and `longest` from now.
    #[must_use]
    pub fn at_most(self, longest: Duration) -> Self {
        Self(self.0.min(Instant::now() + longest))
    }

    /// This deadline, earlier by `reserve`.
    #[must_use]
    pub fn less(self, reserve: Duration) -> Self {
        Self(self.0.checked_sub(reserve).unwrap_or(self.0))
    }

    /// The remaining time.
    #[must_use]
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Whether it has passed.
    #[must_use]
    pub fn is_over(self) -> bool {
        self.0 <= Instant::now()
    }

    /// Waits for an answer of the record. The future is erased: callers' futures contain many.
    ///
    /// # Errors
    /// The record's error, or `RECORD_UNAVAILABLE` at the deadline.
    pub fn record<'a, T>(
        self,
        answer: impl Future<Output = Result<T, Unavailable>> + Send + 'a,
    ) -> BoxFuture<'a, Result<T, Problem>> {
        self.wait(answer, problem::of_record, problem::record_timed_out)
    }

    /// Waits for an answer of the read model, as [`Deadline::record`].
    ///
    /// # Errors
    /// The read model's error, or `READ_MODEL_UNAVAILABLE` at the deadline.
    pub fn rows<'a, T>(
        self,
        answer: impl Future<Output = Result<T, ReadModelError>> + Send + 'a,
    ) -> BoxFuture<'a, Result<T, Problem>> {
        self.wait(answer, problem::of_read_model, problem::read_model_timed_out)
    }

    fn wait<'a, T, E: 'a>(
        self,
        answer: impl Future<Output = Result<T, E>> + Send + 'a,
        failed: fn(&E) -> Problem,
        timed_out: fn() -> Problem,
    ) -> BoxFuture<'a, Result<T, Problem>> {
        Box::pin(async move {
            match timeout_at(self.0, answer).await {
                Ok(answer) => answer.map_err(|error| failed(&error)),
                Err(_) => Err(timed_out()),
            }
        })
    }
}
