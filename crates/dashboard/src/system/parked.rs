//! `/dashboard/system/parked`: what operators request for parked conversations.
//!
//! A gateway may not change rows: it leaves a request in Postgres, which a projector carries out.

pub mod drop_commit;
pub mod retry;

use axum::http::StatusCode;
use axum::response::Redirect;
use domain::{ConversationId, ConversationKey, Sequence, TenantId};
use history::Deadline;
use read_model::projections::conversations::parking::{self, ParkedRequest};
use runtime::http::HttpProblem;

use super::PATH;
use crate::audit::{Action, DashboardAction, record_for};
use crate::person::Person;
use http_listener::state::HttpState;

/// Records a request in the audit log of the conversation's tenant, and leaves it.
///
/// # Errors
/// 404 if the conversation is not parked, or if the person may not see its tenant.
async fn request(
    state: &HttpState,
    person: &Person,
    key: ConversationKey,
    dropped: Option<Sequence>,
) -> Result<Redirect, HttpProblem> {
    let token = token_in(state, person, &key.tenant).ok_or_else(not_parked)?;
    let what = match dropped {
        Some(sequence) => format!("drop of the parked commit at sequence {sequence}"),
        None => "retry of parked commits".to_owned(),
    };
    let action = Action { action: DashboardAction::Changed, conversation: Some(&key.conversation), detail: &what };
    record_for(state, &token, action).await?;
    let model = state.gateway.reader.read_model.of(&key.tenant);
    let request = ParkedRequest { key, dropped };
    let requested = parking::request(&model, &request);
    let is_parked = Deadline::until(None).rows(requested).await;
    if is_parked? {
        return Ok(Redirect::to(PATH));
    }
    Err(not_parked())
}

/// The token of the person's session, or of one in another tenant that the person may see. It never leaves the gateway.
fn token_in(state: &HttpState, person: &Person, tenant: &TenantId) -> Option<String> {
    if tenant == person.admin.tenant.tenant() {
        return Some(person.token.clone());
    }
    let registry = &state.gateway.registry;
    registry.switch_dashboard_tenant(&person.session, tenant)
}

fn key(tenant: &str, conversation: &str) -> Result<ConversationKey, HttpProblem> {
    let tenant = TenantId::parse(tenant).map_err(|_| not_parked())?;
    let conversation = ConversationId::parse(conversation).map_err(|_| not_parked())?;
    Ok(ConversationKey { tenant, conversation })
}

fn not_parked() -> HttpProblem {
    let detail = "the conversation is not parked (any more): reload the page";
    HttpProblem::new(StatusCode::NOT_FOUND, "NOT_PARKED", detail)
}
