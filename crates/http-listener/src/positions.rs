//! Position tokens over HTTP.
//!
//! The response header `x-position-token` has the positions that the request wrote, or the ones that it read if it
//! wrote nothing. The next request sends them back in the same header. If the session is a cookie, the positions are in a cookie
//! too, see `cookies`; the header has precedence. Callers that send neither get a fence within one request.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use conversations::positions::{Positions, RequestScope, StoredPositions, add_stored};
use domain::AgentId;
use runtime::http::HttpProblem;
use wire::status::Problem;
use wire::token::RecordId;

use super::cookies::{self, SEPARATOR};

/// The header of position tokens, separated by commas.
pub const POSITION_HEADER: HeaderName = HeaderName::from_static("x-position-token");

/// Runs a request in the scope of its positions, and adds those that it reaches to its response.
pub async fn layer(State(record): State<RecordId>, request: Request, next: Next) -> Response {
    let scope = RequestScope::new(record, from_headers(request.headers(), record));
    let mut response = scope.clone().within(next.run(request)).await;
    let reached = scope.reached().text(",").and_then(|tokens| HeaderValue::try_from(tokens).ok());
    if let Some(reached) = reached {
        response.headers_mut().insert(POSITION_HEADER, reached);
    }
    if let Some(cookie) = scope.to_store().and_then(|stored| cookie(&stored)) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

/// Reads the positions in the agent's cookie. The response to a write sets the cookie.
pub(crate) fn use_cookie(headers: &HeaderMap, agent: &AgentId) {
    add_stored(agent, |record| {
        let value = cookies::positions(headers, agent).unwrap_or_default();
        Positions::parse_valid(value.split(SEPARATOR), record)
    });
}

/// Checks the tokens of the request.
///
/// # Errors
/// 400: a token is malformed or of another record, or there are too many.
pub fn check() -> Result<(), HttpProblem> {
    let named = |problem: Problem| problem.rename_field(|_| Some(POSITION_HEADER.as_str().into()));
    Ok(conversations::positions::check().map_err(named)?)
}

fn from_headers(headers: &HeaderMap, record: RecordId) -> Result<Positions, Problem> {
    // A value that is no text is no token.
    let values = headers.get_all(POSITION_HEADER).into_iter().map(|value| value.to_str().unwrap_or("?"));
    let tokens = values.flat_map(|value| value.split(',')).map(str::trim).filter(|token| !token.is_empty());
    Positions::parse(tokens, record)
}

fn cookie(stored: &StoredPositions) -> Option<HeaderValue> {
    let tokens = stored.positions.text(&SEPARATOR.to_string())?;
    cookies::set_positions(&stored.agent, &tokens)
}
