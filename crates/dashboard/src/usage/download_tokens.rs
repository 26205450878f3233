//! `GET /dashboard/usage/download`: tokens by day, agent and model, as CSV.

use axum::extract::State;
use axum::response::Response;
use pages::cost::amount;
use runtime::http::{HttpProblem, Query};

use super::file::file;
use super::range::UsageQuery;
use crate::audit::{Action, DashboardAction, record};
use crate::person::Person;
use http_listener::state::HttpState;

const COLUMNS: [&str; 10] = [
    "day",
    "agent",
    "model",
    "messages",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "reasoning_tokens",
    "cost",
    "currency",
];

pub(crate) async fn download_tokens(
    State(state): State<HttpState>,
    person: Person,
    Query(query): Query<UsageQuery>,
) -> Result<Response, HttpProblem> {
    let range = query.range(&state)?;
    let rows = range.tokens(&state, &person.admin.tenant).await?;
    let prices = state.section.dashboard.prices();
    let answer = file("usage", &range, COLUMNS, &rows, |row| {
        let model = row.model.as_deref().unwrap_or_default();
        let cost = prices.cost(model, &row.tokens);
        [
            row.day.to_string(),
            row.agent.as_str().to_owned(),
            model.to_owned(),
            row.messages.to_string(),
            row.tokens.input_tokens.to_string(),
            row.tokens.cached_tokens.to_string(),
            row.tokens.output_tokens.to_string(),
            row.tokens.reasoning_tokens.to_string(),
            cost.map_or_else(String::new, |cost| amount(cost.millionths).replace(',', "")),
            cost.map_or_else(String::new, |_| prices.currency.clone()),
        ]
    })?;
    let action = Action { action: DashboardAction::Exported, conversation: None, detail: "usage" };
    record(&state, &person, action).await?;
    Ok(answer)
}
