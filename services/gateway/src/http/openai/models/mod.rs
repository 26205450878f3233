//! `/openai/v1/models`: the agents that a key may act for.

pub mod get_model;
pub mod list_models;

use serde::Serialize;
use utoipa::ToSchema;
use wire::proto::operate::v1::Agent;

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
