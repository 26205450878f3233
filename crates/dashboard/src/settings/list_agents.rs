//! `GET /dashboard/settings`: the agents of the tenant.

use axum::extract::State;
use pages::dashboard::settings::agents::{AgentRow, AgentsPage, agents};
use runtime::http::HttpProblem;
use wire::proto::operate::v1::Agent;

use crate::page::Page;
use crate::person::Person;
use http_listener::state::HttpState;

pub(crate) async fn list_agents(State(state): State<HttpState>, person: Person) -> Result<Page, HttpProblem> {
    let tenant = person.admin.tenant.tenant();
    let rows: Vec<AgentRow> = state.gateway.registry.list_agents(tenant).into_iter().map(row).collect();
    Ok(Page(agents(AgentsPage { person: person.layout(), agents: &rows })))
}

fn row(agent: Agent) -> AgentRow {
    let settings = agent.settings.unwrap_or_default();
    let model = settings.model.map(|model| {
        let name = format!("{}/{}", model.server, model.model);
        name.trim_end_matches('/').to_owned()
    });
    AgentRow {
        id: agent.agent_id,
        name: agent.display_name,
        model: model.unwrap_or_default(),
        tools: settings.tools.len(),
    }
}
