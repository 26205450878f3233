//! Administrators of tenants, identified by tokens that their tenant signs.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use domain::{Actor, AgentId, ConversationId, ConversationKey, TenantAccess};
use registry::AgentAccess;
use runtime::http::HttpProblem;
use wire::status::Reason;

use super::{admin_reads, problems};
use crate::not_found::not_found;
use crate::state::HttpState;
use crate::{cors, positions};
use conversations::identity::Refusal;
use conversations::open::head_from_leader;
use history::{Deadline, Freshness, Target};

/// A caller who may read everything of a tenant. As an extractor, it records the request in the audit log.
#[derive(Debug, Clone)]
pub struct Admin {
    /// The tenant.
    pub tenant: TenantAccess,
    /// The administrator's name, as the tenant's token has it.
    pub actor: Actor,
}

impl FromRequestParts<HttpState> for Admin {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Self::Rejection> {
        let admin = Self::authenticate(parts, state).await?;
        admin_reads::record_request(state, (&admin.tenant, &admin.actor), parts).await?;
        Ok(admin)
    }
}

impl Admin {
    /// The administrator of a request. The caller records in the audit log what it shows.
    ///
    /// # Errors
    /// 401 without a valid token; 403 for pages whose origin is not allowed; 503 if the tenant's keys cannot be read.
    pub async fn authenticate(parts: &Parts, state: &HttpState) -> Result<Self, HttpProblem> {
        let header = parts.headers.get(header::AUTHORIZATION);
        let token =
            header.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer ")).ok_or_else(unauthenticated)?;
        positions::check()?;
        match state.gateway.token_keys.admin(token, state.now()).await {
            Ok(access) => {
                admit_origin(parts, state, &access.tenant)?;
                Ok(Self { actor: Actor(access.admin.subject().clone()), tenant: access.tenant })
            }
            Err(Refusal::KeysUnavailable) => Err(problems::keys_unavailable()),
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

    /// How to read a conversation of the tenant, of any agent. Audit logs look missing.
    ///
    /// # Errors
    /// [`not_found`] if the tenant has no conversation with this id, or has erased it; 503 if the record does not
    /// answer.
    pub async fn target(&self, state: &HttpState, id: &str) -> Result<Target, HttpProblem> {
        let conversation = ConversationId::parse(id).map_err(|_| not_found())?;
        if conversation.is_audit_log() {
            return Err(not_found());
        }
        self.target_of(state, conversation).await
    }

    /// How to read the audit log of a month, such as `2026-11`. The caller has checked the role.
    ///
    /// # Errors
    /// As [`Admin::target`]; a month without entries has no log.
    pub async fn audit_log(&self, state: &HttpState, month: &str) -> Result<Target, HttpProblem> {
        let text = format!("{}{month}", ConversationId::AUDIT_PREFIX);
        let id = ConversationId::parse(text).map_err(|_| not_found())?;
        self.target_of(state, id).await
    }

    async fn target_of(&self, state: &HttpState, conversation: ConversationId) -> Result<Target, HttpProblem> {
        let key = ConversationKey { tenant: self.tenant.tenant().clone(), conversation };
        let deadline = Deadline::until(None);
        let (head, at) = head_from_leader(state, &key, deadline).await?;
        Ok(Target { access: self.access(head.agent), key, freshness: Freshness::Fresh, fence: Some(at), deadline })
    }

    fn access(&self, agent: AgentId) -> AgentAccess {
        AgentAccess { tenant: self.tenant.clone(), agent, actor: self.actor.clone() }
    }
}

/// Pages of administrators must have an origin that any key of the tenant lists. No other page can make a browser send
/// the header of the token.
fn admit_origin(parts: &Parts, state: &HttpState, tenant: &TenantAccess) -> Result<(), HttpProblem> {
    if !parts.headers.contains_key(header::ORIGIN) {
        return Ok(());
    }
    let registry = &state.gateway.registry;
    let allowed = registry.tenant_origins(tenant.tenant(), state.now());
    cors::admit(parts, &allowed).map(drop)
}

/// A missing token and an invalid one get the same answer.
fn unauthenticated() -> HttpProblem {
    let detail = "a valid token of a tenant's administrator is required: send it as `authorization: Bearer <token>`";
    let code = Reason::Unauthenticated.as_str();
    HttpProblem::new(StatusCode::UNAUTHORIZED, code, detail)
}
