//! `/openai/v1/models`: the agents that a key may act for.

pub mod get_model;
pub mod list_models;

use serde::Serialize;
use utoipa::ToSchema;
use wire::proto::operate::v1::Agent;

use super::requested_model::join;

/// An agent, as a model.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModelBody {
    /// The name of the model in requests: the agent's id, or `agent/model` for another model of the agent.
    #[schema(example = "support")]
    id: String,
    /// Always `model`.
    object: &'static str,
    /// When the agent was created, in seconds since 1970.
    created: i64,
    /// Its tenant.
    owned_by: String,
}

impl ModelBody {
    /// The models of an agent: its own, then the others that requests may name.
    fn of_agent(agent: Agent) -> impl Iterator<Item = Self> {
        let others = agent.settings.unwrap_or_default().other_models.into_iter().map({
            let agent = agent.agent_id.clone();
            move |other| join(&agent, &other)
        });
        [agent.agent_id].into_iter().chain(others).map(move |id| Self {
            id,
            object: "model",
            created: agent.created_at.map_or(0, |at| at.seconds),
            owned_by: agent.tenant_id.clone(),
        })
    }
}
