//! Back ends, identified by service tokens.

use std::ops::Deref;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use conversations::back_end::BackEnd;
use conversations::request::Call;
use domain::AgentId;
use history::Deadline;
use registry::{AgentAccess, Principal, Scope};
use runtime::http::HttpProblem;
use utoipa::IntoParams;
use wire::status::Reason;

use super::headers::{check_query, header_text};
use crate::state::HttpState;
use crate::{cors, positions};

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
pub struct Service(BackEnd);

impl Deref for Service {
    type Target = BackEnd;

    fn deref(&self) -> &BackEnd {
        &self.0
    }
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
        let call = Call::new(token.to_owned(), Deadline::until(None));
        Self(BackEnd::new(call, principal, agent, AGENT_HEADER))
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
        Ok(self.authorize(state, scope, &agent).await?)
    }

    /// The agent that the request names, in its header or its body; else the only one of the token.
    fn agent_of_request(&self, in_body: Option<AgentId>) -> Result<AgentId, HttpProblem> {
        match (self.agent(), in_body) {
            (Some(header), Some(body)) if *header != body => Err(ambiguous()),
            (Some(agent), _) => Ok(agent.clone()),
            (None, Some(agent)) => Ok(agent),
            (None, None) => Ok(self.required_agent()?),
        }
    }
}

fn agent(headers: &HeaderMap) -> Result<Option<AgentId>, HttpProblem> {
    let agent = header_text(headers, AGENT_HEADER)?.map(AgentId::parse).transpose();
    agent.map_err(|violation| HttpProblem::from(violation.within(AGENT_HEADER)))
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

    use domain::{Actor, Label, TenantId};

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
