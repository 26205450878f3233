//! Gives the projectors the search settings of agents: the registry is not for projectors, which follow the rows of this function.

use std::convert::Infallible;
use std::time::Duration;

use read_model::projections::search::{self, AGENTS_PER_CALL_MAX};
use read_model::{ReadModel, ReadModelError};
use registry::AgentSearch;
use runtime::every::every;

use crate::Gateway;

/// Interval between comparisons of the settings.
const INTERVAL: Duration = Duration::from_secs(1);

/// Stores the settings of the tenants of a database after each change, until its task is aborted. Every gateway does, with the same
/// result.
pub async fn publish(gateway: Gateway, database: ReadModel) -> Infallible {
    let mut stored = Vec::new();
    let mut rounds = every(INTERVAL);
    loop {
        rounds.next().await;
        let mut settings = gateway.registry.agent_searches(None);
        settings.retain(|agent| database.serves(&agent.tenant));
        if settings != stored {
            match store(&database, &settings).await {
                Ok(()) => stored = settings,
                // The database may not be migrated yet, or be down: the next attempt is soon.
                Err(error) => tracing::debug!(%error, "the search settings are not stored yet"),
            }
        }
    }
}

async fn store(model: &ReadModel, settings: &[AgentSearch]) -> Result<(), ReadModelError> {
    for chunk in settings.chunks(AGENTS_PER_CALL_MAX) {
        let agents: Vec<search::AgentSearch> = chunk.iter().map(row).collect();
        search::set_agents(model, &agents).await?;
    }
    Ok(())
}

fn row(agent: &AgentSearch) -> search::AgentSearch {
    search::AgentSearch {
        tenant: agent.tenant.clone(),
        agent: agent.agent.clone(),
        is_enabled: agent.is_enabled,
        language: agent.language,
    }
}
