//! `GET /dashboard/usage/runs`: ended runs by day, agent and outcome, as CSV.

use axum::extract::State;
use axum::response::Response;
use runtime::http::{HttpProblem, Query};

use super::file::file;
use super::range::UsageQuery;
use crate::audit::{Action, DashboardAction, record};
use crate::person::Person;
use http_listener::state::HttpState;

const COLUMNS: [&str; 4] = ["day", "agent", "outcome", "runs"];

pub(crate) async fn download_runs(
    State(state): State<HttpState>,
    person: Person,
    Query(query): Query<UsageQuery>,
) -> Result<Response, HttpProblem> {
    let range = query.range(&state)?;
    let rows = range.runs(&state, &person.admin.tenant).await?;
    let answer = file("runs", &range, COLUMNS, &rows, |row| {
        [row.day.to_string(), row.agent.as_str().to_owned(), row.outcome.as_str().to_owned(), row.runs.to_string()]
    })?;
    let action = Action { action: DashboardAction::Exported, conversation: None, detail: "runs" };
    record(&state, &person, action).await?;
    Ok(answer)
}
