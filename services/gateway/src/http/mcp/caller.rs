//! Who calls, and what the caller may do: a service, an administrator of a tenant, or a user.

use axum::extract::FromRequestParts as _;
use axum::http::request::Parts;
use axum::http::{HeaderName, StatusCode, header};
use domain::{AgentId, Owner, TenantAccess, TenantId, ViolationReason};
use history::{Freshness, Target};
use registry::Scope;
use runs::Disclosure;
use runtime::http::HttpProblem;
use wire::proto::operate::v1::DashboardAction;
use wire::status::Reason;

use conversations::identity::Caller;
use conversations::open::find_latest_chat;
use http_listener::callers::admin::Admin;
use http_listener::callers::admin_reads;
use http_listener::callers::frontend::Frontend;
use http_listener::callers::service::Service;
use http_listener::live::Viewed;
use http_listener::positions;
use http_listener::state::HttpState;

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const USER_TOKEN: HeaderName = HeaderName::from_static("x-user-token");

/// A caller with a valid token.
#[derive(Debug)]
pub(super) enum McpCaller {
    /// A back end with a service token.
    Service(Box<Service>),
    /// An administrator of a tenant, who reads only.
    Admin(Admin),
    /// A user with a token, who has their own conversations with the agent of the API key.
    User(Box<Caller>),
}

impl McpCaller {
    /// The caller of a request: a user if it has an API key beside the token, else the service or the administrator of the
    /// token.
    ///
    /// # Errors
    /// 401 without a valid token; 403 for pages whose origin is not allowed; 429 of the key.
    pub(super) async fn authenticate(parts: &mut Parts, state: &HttpState) -> Result<Self, HttpProblem> {
        if parts.headers.contains_key(API_KEY) {
            return Ok(Self::User(Box::new(user(parts, state).await?)));
        }
        match Service::from_request_parts(parts, state).await {
            Ok(service) => return Ok(Self::Service(Box::new(service))),
            Err(problem) if problem.status != StatusCode::UNAUTHORIZED => return Err(problem),
            Err(_) => {}
        }
        match Admin::authenticate(parts, state).await {
            Err(problem) if problem.status == StatusCode::UNAUTHORIZED => Err(unauthenticated()),
            admin => admin.map(Self::Admin),
        }
    }

    /// Checks that some tool is of use to the caller.
    ///
    /// # Errors
    /// 403 `MISSING_SCOPE`.
    pub(super) fn require_any_scope(&self) -> Result<(), HttpProblem> {
        if self.has(Scope::Read) || self.has(Scope::Append) {
            return Ok(());
        }
        let detail = "the token has neither the scope read nor the scope append: use one that has";
        let code = Reason::MissingScope.as_str();
        Err(HttpProblem::new(StatusCode::FORBIDDEN, code, detail))
    }

    /// Whether the caller has a scope for some conversations.
    pub(super) fn has(&self, scope: Scope) -> bool {
        match self {
            Self::Service(service) => service.has_scope(scope),
            Self::Admin(_) => scope == Scope::Read,
            Self::User(_) => matches!(scope, Scope::Read | Scope::Append),
        }
    }

    /// How to read a conversation. The read includes every commit that was acknowledged before.
    ///
    /// # Errors
    /// [`not_found`](http_listener::not_found::not_found) for a missing conversation and for a foreign one alike; 403 without the
    /// scope; 503 if the record does not answer.
    pub(super) async fn target(&self, state: &HttpState, id: &str) -> Result<Target, HttpProblem> {
        match self {
            Self::Service(service) => {
                let target = service.target(state, id).await?;
                let freshness = match target.fence {
                    Some(_) => target.freshness,
                    None => Freshness::Leader,
                };
                Ok(Target { freshness, ..target })
            }
            Self::Admin(admin) => admin.target(state, id).await,
            Self::User(caller) => Ok(find_latest_chat(state, caller, id).await?.target),
        }
    }

    /// Records in the audit log what an administrator reads, before it is answered. Reads of services are recorded by
    /// [`McpCaller::target`] and [`McpCaller::agent`], if the tenant asks for it.
    ///
    /// # Errors
    /// 503 if it cannot be recorded.
    pub(super) async fn record_read(
        &self,
        state: &HttpState,
        operation: &str,
        conversation: Option<&str>,
    ) -> Result<(), HttpProblem> {
        let Self::Admin(admin) = self else {
            return Ok(());
        };
        let operation = format!("MCP {operation}");
        admin_reads::record(state, (&admin.tenant, &admin.actor), DashboardAction::Viewed, (&operation, conversation))
            .await
    }

    /// What the caller gets of tool calls.
    pub(super) fn disclosure(&self, state: &HttpState) -> Disclosure {
        match self {
            Self::User(caller) => state.disclosure(&caller.access.agent),
            Self::Service(_) | Self::Admin(_) => Disclosure::default(),
        }
    }

    /// How to follow a conversation. A user follows it as long as they own it.
    ///
    /// # Errors
    /// As [`McpCaller::target`].
    pub(super) async fn viewed(&self, state: &HttpState, id: &str) -> Result<Viewed, HttpProblem> {
        match self {
            Self::User(caller) => {
                let chat = find_latest_chat(state, caller, id).await?;
                Ok(Viewed::of_owner(state, chat))
            }
            Self::Service(_) | Self::Admin(_) => Ok(self.target(state, id).await?.into()),
        }
    }

    /// The tenant and the agent of a listing: the named agent, or the only one that the caller can mean.
    ///
    /// # Errors
    /// 400 if the agent is not determined; 403 without the scope; 404 for a missing agent.
    pub(super) async fn agent(
        &self,
        state: &HttpState,
        named: Option<&str>,
    ) -> Result<(TenantAccess, AgentId), HttpProblem> {
        match self {
            Self::Service(service) => {
                let only = self.only_agent(state, named);
                let named = named.or(only.as_deref());
                let access = service.access(state, Scope::Read, named).await.map_err(with_argument)?;
                service.record_listing(state, access.tenant.tenant(), "listing or search")?;
                Ok((access.tenant, access.agent))
            }
            Self::Admin(admin) => {
                let only = self.only_agent(state, named);
                let agent = named.or(only.as_deref()).ok_or_else(agent_missing)?;
                Ok((admin.tenant.clone(), parse_agent(agent)?))
            }
            Self::User(caller) => {
                check_own_agent(caller, named)?;
                Ok((caller.access.tenant.clone(), caller.access.agent.clone()))
            }
        }
    }

    /// The id of the caller's tenant's agent, if none is named and there is only one.
    pub(super) fn only_agent(&self, state: &HttpState, named: Option<&str>) -> Option<String> {
        if named.is_some() {
            return None;
        }
        let tenant: &TenantId = match self {
            Self::Service(service) => service.tenant_without_agent()?,
            Self::Admin(admin) => admin.tenant.tenant(),
            Self::User(_) => return None,
        };
        let agent = state.gateway.registry.only_agent(tenant)?;
        Some(agent.as_str().to_owned())
    }

    /// The user of the caller's token.
    pub(super) fn own_user(&self) -> Option<&str> {
        match self {
            Self::User(caller) => match &caller.owner {
                Owner::User(user) => Some(user.as_str()),
                Owner::Session(_) | Owner::Channel(_) => None,
            },
            Self::Service(_) | Self::Admin(_) => None,
        }
    }
}

/// The user of a request with an API key. The token is the bearer token, or the header `x-user-token`.
async fn user(parts: &mut Parts, state: &HttpState) -> Result<Caller, HttpProblem> {
    let bearer = wire::bearer::from_headers(&parts.headers);
    let token = bearer.and_then(|token| token.parse().ok());
    if let Some(token) = token
        && !parts.headers.contains_key(USER_TOKEN)
    {
        parts.headers.insert(USER_TOKEN, token);
    }
    parts.headers.remove(header::AUTHORIZATION);
    positions::check()?;
    let frontend = Frontend::from_request_parts(parts, state).await?;
    frontend.user(state).await
}

/// Rejects an agent other than the one of the caller's key.
///
/// # Errors
/// 404 `AGENT_NOT_FOUND`.
pub(super) fn check_own_agent(caller: &Caller, named: Option<&str>) -> Result<(), HttpProblem> {
    if named.is_none_or(|named| named == caller.access.agent.as_str()) {
        return Ok(());
    }
    let detail = "is not the agent of the API key: leave it out";
    let code = Reason::AgentNotFound.as_str();
    Err(HttpProblem::new(StatusCode::NOT_FOUND, code, detail).in_field("agent_id"))
}

fn parse_agent(text: &str) -> Result<AgentId, HttpProblem> {
    AgentId::parse(text).map_err(|wrong| HttpProblem::from(wrong.within("agent_id")))
}

/// The problem of an agent, with the name of the tools' argument.
pub(super) fn with_argument(problem: HttpProblem) -> HttpProblem {
    if problem.code == ViolationReason::Missing.as_str() {
        return agent_missing();
    }
    match problem.field.as_deref() {
        Some("agentId" | "x-agent-id") => problem.in_field("agent_id"),
        Some(_) | None => problem,
    }
}

fn agent_missing() -> HttpProblem {
    let detail = "is required, because the tenant has several agents: name the agent, or let the host send the header x-agent-id";
    HttpProblem::of_field(ViolationReason::Missing, "agent_id", detail)
}

fn unauthenticated() -> HttpProblem {
    let detail = "a valid token is required: send it as `authorization: Bearer <token>`";
    let code = Reason::Unauthenticated.as_str();
    HttpProblem::new(StatusCode::UNAUTHORIZED, code, detail)
}
