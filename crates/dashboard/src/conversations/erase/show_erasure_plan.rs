//! `GET /dashboard/conversations/{id}/erase`: what an erasure would remove.

use axum::extract::State;
use runtime::http::{HttpProblem, Path};

use super::{page, plan};
use crate::page::Page;
use crate::person::Person;
use http_listener::state::HttpState;

pub(crate) async fn show_erasure_plan(
    State(state): State<HttpState>,
    person: Person,
    Path(id): Path<String>,
) -> Result<Page, HttpProblem> {
    let target = person.admin.target(&state, &id).await?;
    Ok(page(&person, &plan(&state, &target).await?, None))
}
