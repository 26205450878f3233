//! `GET /dashboard/sign-in/provider`: goes to the provider.

use axum::extract::State;
use axum::response::Response;
use runtime::http::{HttpProblem, Query};
use serde::Deserialize;

use super::{attempt_cookie, from_provider, sign_in_rejected};
use crate::sign_in::{page_or_first, provider_of, with_cookie};
use http_listener::openid::Attempt;
use http_listener::state::HttpState;

#[derive(Debug, Default, Deserialize)]
pub(crate) struct StartQuery {
    /// The page to come back to.
    next: Option<String>,
}

pub(crate) async fn start_sign_in(
    State(state): State<HttpState>,
    Query(query): Query<StartQuery>,
) -> Result<Response, HttpProblem> {
    let provider = provider_of(&state)?;
    let attempt = Attempt::new(rand::random(), page_or_first(query.next.as_deref()));
    let url = provider.sign_in_url(&attempt, state.now()).await.map_err(from_provider)?;
    let cookie = attempt_cookie::set(&attempt).ok_or_else(sign_in_rejected)?;
    Ok(with_cookie(&url, cookie))
}
