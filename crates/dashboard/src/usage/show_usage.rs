//! `GET /dashboard/usage`: the page.

use axum::extract::State;
use domain::AgentId;
use pages::dashboard::usage::{UsagePage, UsageRange, usage};
use runtime::http::{HttpProblem, Query};

use super::range::{UsageQuery, is_cut};
use super::summary::{by_day, by_name, runs_by_day};
use crate::freshness::freshness;
use crate::page::Page;
use crate::person::Person;
use http_listener::state::HttpState;

/// Agents that the field of the agent suggests.
const SUGGESTED_MAX: usize = 200;

pub(crate) async fn show_usage(
    State(state): State<HttpState>,
    person: Person,
    Query(query): Query<UsageQuery>,
) -> Result<Page, HttpProblem> {
    let range = query.range(&state)?;
    let tenant = &person.admin.tenant;
    let tokens = range.tokens(&state, tenant).await?;
    let runs = range.runs(&state, tenant).await?;
    let prices = state.section.dashboard.prices();
    let mut agents: Vec<String> =
        state.gateway.registry.list_agents(tenant.tenant()).into_iter().map(|agent| agent.agent_id).collect();
    agents.sort();
    agents.truncate(SUGGESTED_MAX);
    Ok(Page(usage(UsagePage {
        person: person.layout(),
        range: UsageRange {
            from: &range.days.first().to_string(),
            to: &range.days.last().to_string(),
            agent: range.agent.as_ref().map_or("", AgentId::as_str),
            query: &range.query(),
        },
        agents: &agents,
        days: &by_day(range.days, &tokens, &prices),
        by_agent: &by_name(&tokens, &prices, |row| row.agent.as_str()),
        by_model: &by_name(&tokens, &prices, |row| row.model.as_deref().unwrap_or("(not named)")),
        runs: &runs_by_day(range.days, &runs),
        is_cut: is_cut(&tokens) || is_cut(&runs),
        prices: &prices,
        freshness: freshness(&state, tenant.tenant()).await,
    })))
}
