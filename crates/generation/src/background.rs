//! Model calls in the background, after a run: summaries and titles.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use registry::AgentAccess;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tracing::{Instrument as _, Span};
use wire::status::Problem;

use super::{Generations, ModelChoice};
use crate::assembly::ContextRequest;

/// A kind of task.
pub(super) struct TaskKind<'g> {
    /// Limits the tasks that run at once.
    pub(super) places: &'g Arc<Semaphore>,
    pub(super) span: Span,
    /// Counts an outcome.
    pub(super) count: fn(&'static str),
    /// The log message of a failure.
    pub(super) failure_message: &'static str,
}

/// The code of a failure, for metrics and logs: a short stable name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Failure(pub(super) &'static str);

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self(problem.reason().as_str())
    }
}

impl Generations {
    /// Runs a task in the background, at most as long as a run, and counts its outcome; `None`: nothing was due. The task
    /// is not run if too many of its kind run.
    pub(super) fn start_task(
        &self,
        kind: TaskKind<'_>,
        task: impl Future<Output = Result<Option<&'static str>, Failure>> + Send + 'static,
    ) {
        let TaskKind { places, span, count, failure_message } = kind;
        let Ok(permit) = Arc::clone(places).try_acquire_owned() else {
            count("no_place");
            return;
        };
        let task = timeout(Duration::from_millis(self.config.run_timeout_ms), task);
        let work = async move {
            match task.await.unwrap_or(Err(Failure("timed_out"))) {
                Ok(None) => {}
                Ok(Some(outcome)) => count(outcome),
                Err(Failure(code)) => {
                    count(code);
                    tracing::warn!(code, "{failure_message}");
                }
            }
            drop(permit);
        };
        self.shutdown.spawn_cancellable(work.instrument(span));
    }

    /// The context request of a task whose model may be another than the agent's.
    ///
    /// # Errors
    /// The model server is unknown, or reserved for other tenants; the policy cannot be read.
    pub(super) async fn task_request(
        &self,
        access: &AgentAccess,
        model: &ModelChoice,
    ) -> Result<ContextRequest, Failure> {
        if self.models.format(&model.server).is_none() {
            return Err(Failure("model_server_unknown"));
        }
        self.check_model_server(access.tenant.tenant(), model).map_err(|_| Failure("model_server_not_allowed"))?;
        Ok(self.context_request(access, model).await?)
    }
}
