//! Back ends, identified by service tokens.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use domain::{AgentId, ConversationId, ConversationKey, Owner, TenantId, ViolationReason};
use history::{Deadline, Freshness, Target};
use registry::{AccessError, AgentAccess, Principal, Scope};
use runtime::http::HttpProblem;
use utoipa::IntoParams;
use wire::proto::operate::v1::Agent;
use wire::proto::write::v1 as write;
use wire::status::Reason;

use super::headers::{check_query, header_text};
use crate::not_found::not_found;
use crate::state::HttpState;
use crate::{cors, positions};
use conversations::audit;
use conversations::commands::command_target;
use conversations::names::ReadFrom;
use conversations::open::head_from_leader;
use conversations::problem::access_problem;
use conversations::request::Call;

/// The header that names the agent.
const AGENT_HEADER: &str = "x-agent-id";

/// The header that names the agent, and positions.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
pub struct ServiceHeaders {
    /// The agent of the conversation. Required for tokens of all tenants: the agent determines the tenant. With a token of one
    /// tenant, the record is asked for the agent. A token of one agent needs no name.
    #[param(rename = "x-agent-id")]
    pub agent: Option<String>,
    /// Positions that the answer must include: the header of the same name of earlier answers, at most 8 tokens, separated by
    /// commas.
    #[param(rename = "x-position-token")]
    pub position: Option<String>,
}

/// A caller with a valid service token. Pages cannot be one: a request with an origin is rejected.
#[derive(Debug, Clone)]
pub struct Service {
    /// The token and the deadline, for commands under the caller's own token.
    pub call: Call,
    principal: Principal,
    agent: Option<AgentId>,
}

impl FromRequestParts<HttpState> for Service {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Self::Rejection> {
        let bearer = wire::bearer::from_headers(&parts.headers).ok_or_else(unauthenticated)?;
        let principal = state.gateway.registry.authenticate(bearer, state.now()).await.ok_or_else(unauthenticated)?;
        cors::admit(parts, &[])?;
        positions::check()?;
        check_query(parts.uri.query())?;
        Ok(Self::new(bearer, principal, agent(&parts.headers)?))
    }
}

impl Service {
    /// The caller with this token, which authentication has resolved to the principal; `agent`: the agent that the request names.
    #[must_use]
    pub fn new(token: &str, principal: Principal, agent: Option<AgentId>) -> Self {
        Self { call: Call::new(token.to_owned(), Deadline::until(None)), principal, agent }
    }

    /// Permission to act for an agent: that of the header, or the one that the body names.
    ///
    /// # Errors
    /// 400 if no agent or two agents are named; 403 without the scope; 404 for a missing agent and for a foreign one.
    pub async fn access(
        &self,
        state: &HttpState,
        scope: Scope,
        named: Option<&str>,
    ) -> Result<AgentAccess, HttpProblem> {
        let named = named.map(AgentId::parse).transpose().map_err(|violation| violation.within("agentId"))?;
        let agent = self.agent_of_request(named)?;
        self.authorize(state, scope, &agent).await
    }

    /// The agent that the request names, in its header or its body; else the only one of the token.
    fn agent_of_request(&self, in_body: Option<AgentId>) -> Result<AgentId, HttpProblem> {
        match (&self.agent, in_body) {
            (Some(header), Some(body)) if *header != body => Err(ambiguous()),
            (Some(agent), _) => Ok(agent.clone()),
            (None, Some(agent)) => Ok(agent),
            (None, None) => self.only_agent().ok_or_else(agent_missing),
        }
    }

    /// The agents that the token may act for, by id; only the one of the header if it names one.
    ///
    /// # Errors
    /// 400 if the token is of all tenants and the header names no agent.
    pub async fn agents(&self, state: &HttpState) -> Result<Vec<Agent>, HttpProblem> {
        let registry = &state.gateway.registry;
        let mut agents = match (&self.agent, &self.principal.tenant) {
            (Some(agent), _) => Vec::from_iter(self.agent_by_id(state, agent.as_str()).await),
            (None, Some(tenant)) => registry.list_agents(tenant),
            (None, None) => return Err(agent_missing()),
        };
        agents.retain(|agent| {
            let id = AgentId::parse(agent.agent_id.as_str());
            id.is_ok_and(|id| self.principal.acts_for(&id))
        });
        Ok(agents)
    }

    /// An agent that the token may act for; `None`: there is no such agent, or the token may not act for it.
    pub async fn agent_by_id(&self, state: &HttpState, id: &str) -> Option<Agent> {
        let id = AgentId::parse(id).ok()?;
        let registry = &state.gateway.registry;
        registry.visible_agent(&self.principal, &id).await
    }

    /// The id of the token.
    #[must_use]
    pub fn token_id(&self) -> &str {
        &self.principal.token_id
    }

    /// The agent of a token that is bound to exactly one.
    #[must_use]
    pub fn only_agent(&self) -> Option<AgentId> {
        self.principal.only_agent().cloned()
    }

    /// Whether the token has a scope.
    #[must_use]
    pub fn has_scope(&self, scope: Scope) -> bool {
        self.principal.require(scope).is_ok()
    }

    /// The tenant of a token of one tenant that is not bound to agents, if the request names no agent.
    #[must_use]
    pub fn tenant_without_agent(&self) -> Option<&TenantId> {
        let tenant = self.principal.tenant.as_ref();
        tenant.filter(|_| self.agent.is_none() && self.principal.agents.is_empty())
    }

    /// Records a listing or a search in the audit log, if the tenant asks for it.
    ///
    /// # Errors
    /// As [`audit::record_listing`].
    pub fn record_listing(
        &self,
        state: &HttpState,
        tenant: &TenantId,
        operation: &'static str,
    ) -> Result<(), HttpProblem> {
        let recorded = audit::record_listing(&state.gateway, &self.principal, tenant, operation);
        recorded.map_err(HttpProblem::from)
    }

    /// How to read a conversation. The read includes what the request has sent, read and written. It is recorded in the audit log, if the
    /// tenant asks for it.
    ///
    /// # Errors
    /// 403 without the scope `read`; [`not_found`] if the token has no access to such a conversation; 400 without an agent if the
    /// token is of all tenants; 503 if the record does not answer.
    pub async fn target(&self, state: &HttpState, id: &str) -> Result<Target, HttpProblem> {
        let (access, key) = self.conversation(state, Scope::Read, id).await?;
        let recorded = state.gateway.record_token_read(&self.principal, (&access, &key), self.call.deadline).await;
        recorded?;
        Ok(Target {
            fence: conversations::positions::fence(&state.gateway, &key).await?,
            access,
            key,
            freshness: Freshness::Fresh,
            deadline: self.call.deadline,
        })
    }

    /// The target of a command of the writer, which authorizes it by the caller's token.
    ///
    /// # Errors
    /// As [`Service::target`], for the scope `append`.
    pub async fn command_target(
        &self,
        state: &HttpState,
        id: &str,
        key: String,
    ) -> Result<write::CommandTarget, HttpProblem> {
        let (access, conversation) = self.conversation(state, Scope::Append, id).await?;
        Ok(command_target(&access.agent, &conversation.conversation, key))
    }

    /// Permission to act in a conversation, and its key. Whether the agent has such a conversation is not checked.
    ///
    /// # Errors
    /// As [`Service::target`], for this scope.
    pub async fn conversation(
        &self,
        state: &HttpState,
        scope: Scope,
        id: &str,
    ) -> Result<(AgentAccess, ConversationKey), HttpProblem> {
        let conversation = ConversationId::parse(id).map_err(|_| not_found())?;
        let agent = match (self.named_agent(), &self.principal.tenant) {
            (Some(agent), _) => agent.clone(),
            (None, Some(tenant)) => {
                // Without the scope, the caller does not learn what exists.
                self.principal.require(scope).map_err(from_access)?;
                let key = ConversationKey { tenant: tenant.clone(), conversation: conversation.clone() };
                let (head, _) = head_from_leader(state, &key, self.call.deadline).await?;
                if !self.principal.acts_for(&head.agent) {
                    return Err(not_found());
                }
                head.agent
            }
            (None, None) => return Err(agent_missing()),
        };
        let access = self.authorize(state, scope, &agent).await?;
        let tenant = access.tenant.tenant().clone();
        Ok((access, ConversationKey { tenant, conversation }))
    }

    /// The agent that the request names, or the only one of the token.
    fn named_agent(&self) -> Option<&AgentId> {
        self.agent.as_ref().or(self.principal.only_agent())
    }

    /// The record's id of the conversation that an id of a request means for an owner: the id itself, unless the owner has named a
    /// conversation so. Only a request whose agent is known can use names.
    ///
    /// # Errors
    /// As [`Service::target`], for this scope.
    pub async fn conversation_of(
        &self,
        state: &HttpState,
        scope: Scope,
        owner: Option<&Owner>,
        id: ConversationId,
    ) -> Result<ConversationId, HttpProblem> {
        let (Some(owner), Some(agent)) = (owner, self.named_agent()) else {
            return Ok(id);
        };
        if id.is_history() {
            return Ok(id);
        }
        let access = self.authorize(state, scope, agent).await?;
        let found = conversations::names::find(state, &access, owner, id.as_str(), ReadFrom::Leader).await?;
        Ok(found.map_or(id, |key| key.conversation))
    }

    async fn authorize(&self, state: &HttpState, scope: Scope, agent: &AgentId) -> Result<AgentAccess, HttpProblem> {
        let registry = &state.gateway.registry;
        registry.authorize(&self.principal, scope, agent).await.map_err(from_access)
    }
}

fn agent(headers: &HeaderMap) -> Result<Option<AgentId>, HttpProblem> {
    let agent = header_text(headers, AGENT_HEADER)?.map(AgentId::parse).transpose();
    agent.map_err(|violation| HttpProblem::from(violation.within(AGENT_HEADER)))
}

fn from_access(error: AccessError) -> HttpProblem {
    HttpProblem::from(access_problem(&error, AGENT_HEADER))
}

fn agent_missing() -> HttpProblem {
    let detail = "is required unless the token is bound to one agent: send the agent of the conversation";
    HttpProblem::of_field(ViolationReason::Missing, AGENT_HEADER, detail)
}

fn ambiguous() -> HttpProblem {
    let detail = "agentId differs from the header x-agent-id: send one of them";
    HttpProblem::of_field("CALLER_AMBIGUOUS", "agentId", detail)
}

/// Missing, unknown and revoked tokens get the same answer.
fn unauthenticated() -> HttpProblem {
    let detail = "a valid service token is required: send it as `authorization: Bearer <token>`";
    let code = Reason::Unauthenticated.as_str();
    HttpProblem::new(StatusCode::UNAUTHORIZED, code, detail)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use domain::{Actor, Label};

    use super::*;

    fn id(agent: &str) -> AgentId {
        AgentId::parse(agent).unwrap()
    }

    /// A caller with the token `token-7` of the tenant `acme`, bound to these agents, with the scope `read`.
    fn service(bound: &[&str], header: Option<&str>) -> Service {
        let principal = Principal {
            token_id: Arc::from("token-7"),
            actor: Actor(Label::parse("back end").unwrap()),
            scopes: [Scope::Read].into_iter().collect(),
            tenant: Some(TenantId::parse("acme").unwrap()),
            agents: Arc::new(bound.iter().map(|agent| id(agent)).collect::<BTreeSet<_>>()),
            expires_at: None,
        };
        Service::new("secret", principal, header.map(id))
    }

    #[test]
    fn a_request_names_one_agent() {
        let check = |bound: &[&str], header: Option<&str>, body: Option<&str>, expected: Result<&str, &str>| {
            let agent = service(bound, header).agent_of_request(body.map(id)).map_err(|problem| problem.code);
            assert_eq!(agent, expected.map(id).map_err(Into::into), "{bound:?} {header:?} {body:?}");
        };
        check(&[], Some("a"), None, Ok("a"));
        check(&[], None, Some("a"), Ok("a"));
        check(&[], Some("a"), Some("a"), Ok("a"));
        check(&[], Some("a"), Some("b"), Err("CALLER_AMBIGUOUS"));
        check(&[], None, None, Err("FIELD_MISSING"));
        check(&["only"], None, None, Ok("only"));
        check(&["only"], Some("a"), None, Ok("a"));
        check(&["one", "two"], None, None, Err("FIELD_MISSING"));
    }

    #[test]
    fn a_token_has_an_id_agents_scopes_and_maybe_a_tenant() {
        let caller = service(&["only"], None);
        assert_eq!(caller.token_id(), "token-7");
        assert_eq!(caller.only_agent(), Some(id("only")));
        assert_eq!(service(&["one", "two"], None).only_agent(), None);
        assert!(caller.has_scope(Scope::Read));
        assert!(!caller.has_scope(Scope::Append));
        let check = |bound: &[&str], header: Option<&str>, expected: bool| {
            let caller = service(bound, header);
            let tenant = caller.tenant_without_agent().map(TenantId::as_str);
            assert_eq!(tenant, expected.then_some("acme"), "{bound:?} {header:?}");
        };
        check(&[], None, true);
        check(&[], Some("a"), false);
        check(&["only"], None, false);
        check(&["only"], Some("only"), false);
    }
}
