//! Administrators of tenants, by tokens that their tenant has signed.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use domain::{Actor, AgentId, ConversationId, ConversationKey, Status, TenantAccess};
use event_log::registry::AgentAccess;
use runtime::http::HttpProblem;
use wire::status::Reason;

use super::owned_chat::not_found;
use super::state::HttpState;
use super::{caller_refusal, cors, positions, problem};
use crate::identity::Refusal;
use history::CommitPosition;
use history::Deadline;
use history::{Freshness, Target};

/// A caller who may read all that is their tenant's.
#[derive(Debug, Clone)]
pub struct Admin {
    /// The tenant, granted.
    pub tenant: TenantAccess,
    /// Who they are, as the tenant names them.
    pub actor: Actor,
}

impl FromRequestParts<HttpState> for Admin {
    type Rejection = HttpProblem;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &HttpState,
    ) -> Result<Self, Self::Rejection> {
        let header = parts.headers.get(header::AUTHORIZATION);
        let token = header.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        let token = token.ok_or_else(unauthenticated)?;
        positions::check()?;
        match state.gateway.token_keys.admin(token, state.now()).await {
            Ok(access) => {
                admit_origin(parts, state, &access.tenant)?;
                Ok(Self {
                    actor: Actor(access.admin.subject().clone()),
                    tenant: access.tenant,
                })
            }
            Err(Refusal::KeysUnavailable) => Err(caller_refusal::keys_unavailable()),
            Err(
                Refusal::Token(_)
                | Refusal::SessionMissing
                | Refusal::Session(_)
                | Refusal::SessionKeyMissing
                | Refusal::TokenRequired
                | Refusal::UserMismatch,
            ) => Err(unauthenticated()),
        }
    }
}

impl Admin {
    /// How to read a conversation of the tenant's, whichever agent's it is.
    ///
    /// # Errors
    /// [`not_found`] where the tenant has none with this id, or has erased it; 503 where the record does not answer.
    pub async fn target(&self, state: &HttpState, id: &str) -> Result<Target, HttpProblem> {
        let conversation = ConversationId::parse(id).map_err(|_| not_found())?;
        let key = ConversationKey {
            tenant: self.tenant.tenant().clone(),
            conversation,
        };
        let deadline = Deadline::until(None);
        let last = deadline.record(state.gateway.reader.record.last_from_leader(&key));
        let last = last.await.map_err(problem::of)?.ok_or_else(not_found)?;
        let head = last
            .open_head()
            .map_err(|corrupt| problem::of(crate::problem::of_corrupt(&corrupt)))?;
        if head.status == Status::Erased {
            return Err(not_found());
        }
        let place = CommitPosition {
            version: head.version,
            sequence: last.position.sequence,
        };
        positions::read(&state.gateway, &key, place);
        Ok(Target {
            access: self.access(head.agent),
            key,
            freshness: Freshness::Fresh,
            fence: Some(last.position),
            deadline,
        })
    }

    fn access(&self, agent: AgentId) -> AgentAccess {
        AgentAccess {
            tenant: self.tenant.clone(),
            agent,
            actor: self.actor.clone(),
        }
    }
}

/// Pages of administrators are of the origins that any key of the tenant lists. The token is in a header that no other page
/// can make a browser send.
fn admit_origin(
    parts: &Parts,
    state: &HttpState,
    tenant: &TenantAccess,
) -> Result<(), HttpProblem> {
    if !parts.headers.contains_key(header::ORIGIN) {
        return Ok(());
    }
    let registry = &state.gateway.registry;
    let allowed = registry.tenant_origins(tenant.tenant(), state.now());
    cors::admit(parts, &allowed).map(drop)
}

/// No token, and one that does not hold for whatever reason, are told alike.
fn unauthenticated() -> HttpProblem {
    let detail = "a valid token of a tenant's administrator is required: send it as `authorization: Bearer <token>`";
    let code = Reason::Unauthenticated.as_str();
    HttpProblem::new(StatusCode::UNAUTHORIZED, code, detail)
}
