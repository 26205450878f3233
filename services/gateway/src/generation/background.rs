//! Model calls in the background, after a run: summaries and titles.

use event_log::registry::AgentAccess;
use wire::status::Problem;

use super::{Generations, ModelChoice};
use crate::assembly::ContextRequest;

/// The code of a failure, for metrics and logs: a short stable name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Failure(pub(super) &'static str);

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self(problem.reason().as_str())
    }
}

impl Generations {
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
        let allowed = self.check_model_server(access.tenant.tenant(), model);
        allowed.map_err(|_| Failure("model_server_not_allowed"))?;
        Ok(self.context_request(access, model).await?)
    }
}
