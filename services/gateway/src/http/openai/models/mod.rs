//! `/openai/v1/models`: the agents that a key may act for.

pub mod get_model;
pub mod list_models;

use axum::http::StatusCode;
use runtime::http::HttpProblem;
use serde::Serialize;
use utoipa::ToSchema;
use wire::proto::operate::v1::Agent;
use wire::status::Reason;

/// The request names no agent that the key may act for.
pub(super) fn model_not_found() -> HttpProblem {
    let detail = "model names no agent that this key may act for: GET /openai/v1/models lists them";
    let code = Reason::AgentNotFound.as_str();
    HttpProblem::new(StatusCode::NOT_FOUND, code, detail).in_field("model")
}

/// An agent, as a model.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModelBody {
    /// The agent's id: the name of the model in requests.
    #[schema(example = "support")]
    id: String,
    /// Always `model`.
    object: &'static str,
    /// When the agent was created, in seconds since 1970.
    created: i64,
    /// Its tenant.
    owned_by: String,
}

impl From<Agent> for ModelBody {
    fn from(agent: Agent) -> Self {
        Self {
            id: agent.agent_id,
            object: "model",
            created: agent.created_at.map_or(0, |at| at.seconds),
            owned_by: agent.tenant_id,
        }
    }
}
