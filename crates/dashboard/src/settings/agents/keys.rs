//! `/dashboard/settings/agents/{agent}/keys`: the API keys of an agent.

pub mod change_origins;
pub mod create_key;
pub mod list_keys;
pub mod revoke_key;
pub mod rotate_key;

use axum::http::StatusCode;
use axum::response::Redirect;
use domain::Timestamp;
use pages::dashboard::settings::NewSecret;
use pages::dashboard::settings::agent_path;
use pages::dashboard::settings::api_keys::{ApiKeyRow, ApiKeysPage, RejectedKeyForm, api_keys};
use runtime::http::HttpProblem;
use wire::proto::operate::v1::{ApiKey, ListApiKeysRequest};
use wire::status::{Problem, Reason};

use super::StatusPage;
use crate::page::Page;
use crate::person::Person;
use crate::settings::rejection::failure;
use crate::settings::{agent_of, is_ending, registry, time};
use http_listener::state::HttpState;

/// What a page shows beside the keys.
#[derive(Clone, Copy, Default)]
struct Shown<'a> {
    new: Option<NewSecret<'a>>,
    rejected: Option<RejectedKeyForm<'a>>,
}

/// The keys of an agent of the tenant.
async fn keys_of(state: &HttpState, person: &Person, agent: &str) -> Result<Vec<ApiKey>, HttpProblem> {
    agent_of(state, person, agent)?;
    let request = ListApiKeysRequest { agent_id: agent.to_owned() };
    let listed = registry(state, person).list_api_keys(request).await.map_err(failure)?;
    Ok(listed.into_inner().api_keys)
}

/// Checks that a key is of the agent in the URL.
async fn check_key(state: &HttpState, person: &Person, agent: &str, key: &str) -> Result<(), HttpProblem> {
    let keys = keys_of(state, person, agent).await?;
    if keys.iter().any(|known| known.api_key_id == key) {
        return Ok(());
    }
    let detail = "the agent has no such API key: check the address";
    let missing = Problem::new(Reason::RegistryEntryNotFound, detail);
    Err(HttpProblem::from(missing))
}

/// The page of the keys, read again.
async fn page(state: &HttpState, person: &Person, agent: &str, shown: Shown<'_>) -> Result<Page, HttpProblem> {
    let keys = keys_of(state, person, agent).await?;
    let now = state.now();
    let mut rows: Vec<ApiKeyRow> = keys.into_iter().map(|key| row(key, now)).collect();
    rows.sort_by_key(|row| (!row.is_valid, std::cmp::Reverse(row.created_at)));
    Ok(Page(api_keys(ApiKeysPage {
        person: person.layout(),
        agent,
        keys: &rows,
        new: shown.new,
        rejected: shown.rejected,
    })))
}

/// The page with the secret of a new key, for the only time.
async fn created(
    state: &HttpState,
    person: &Person,
    agent: &str,
    new: NewSecret<'_>,
) -> Result<StatusPage, HttpProblem> {
    let shown = Shown { new: Some(new), ..Shown::default() };
    Ok((StatusCode::OK, page(state, person, agent, shown).await?))
}

/// The page with a form that was rejected.
async fn rejected(
    state: &HttpState,
    person: &Person,
    agent: &str,
    status: StatusCode,
    form: RejectedKeyForm<'_>,
) -> Result<StatusPage, HttpProblem> {
    let shown = Shown { rejected: Some(form), ..Shown::default() };
    Ok((status, page(state, person, agent, shown).await?))
}

/// Back to the keys.
fn keys_page(agent: &str) -> Redirect {
    Redirect::to(&format!("{}/keys", agent_path(agent)))
}

fn row(key: ApiKey, now: Timestamp) -> ApiKeyRow {
    let ends_at = time(key.revoked_at).or_else(|| time(key.expires_at));
    let is_valid = key.revoked_at.is_none() && ends_at.is_none_or(|end| now < end);
    ApiKeyRow {
        is_valid,
        is_ending: is_valid && is_ending(ends_at, now),
        last_used_at: time(key.last_used_at),
        created_at: time(key.created_at),
        ends_at,
        id: key.api_key_id,
        name: key.display_name,
        origins: key.allowed_origins,
    }
}

/// The origins of a form, one a line.
fn origins(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}
