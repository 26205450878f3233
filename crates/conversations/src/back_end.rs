//! Back ends, identified by service tokens, and what they may open.

use domain::{AgentId, CommitId, ConversationId, ConversationKey, Owner, TenantId, Violation, ViolationReason};
use history::{Freshness, Target};
use registry::{AgentAccess, Principal, Scope};
use wire::proto::operate::v1::Agent;
use wire::proto::write::v1 as write;
use wire::status::Problem;

use crate::commands::command_target;
use crate::names::{ReadFrom, find};
use crate::open::head_from_leader;
use crate::problem::{access_problem, not_found};
use crate::request::Call;
use crate::{Conversations, audit, positions, request};

/// A caller with a valid service token.
#[derive(Debug, Clone)]
pub struct BackEnd {
    /// The token and the deadline, for commands under the caller's own token.
    pub call: Call,
    principal: Principal,
    /// The agent that the request names.
    agent: Option<AgentId>,
    /// The caller's name of the field with the agent.
    agent_field: &'static str,
}

impl BackEnd {
    /// The caller with this token, which authentication has resolved to the principal; `agent`: the agent that the request names, in this
    /// field.
    #[must_use]
    pub fn new(call: Call, principal: Principal, agent: Option<AgentId>, agent_field: &'static str) -> Self {
        Self { call, principal, agent, agent_field }
    }

    /// The agent that the request names.
    #[must_use]
    pub fn agent(&self) -> Option<&AgentId> {
        self.agent.as_ref()
    }

    /// The agents that the token may act for, by id; only the one of the request if it names one.
    ///
    /// # Errors
    /// The token is of all tenants and the request names no agent.
    pub async fn agents(&self, conversations: &Conversations) -> Result<Vec<Agent>, Problem> {
        let registry = &conversations.gateway.registry;
        let mut agents = match (&self.agent, &self.principal.tenant) {
            (Some(agent), _) => Vec::from_iter(self.agent_by_id(conversations, agent.as_str()).await),
            (None, Some(tenant)) => registry.list_agents(tenant),
            (None, None) => return Err(self.agent_missing()),
        };
        agents.retain(|agent| {
            let id = AgentId::parse(agent.agent_id.as_str());
            id.is_ok_and(|id| self.principal.acts_for(&id))
        });
        Ok(agents)
    }

    /// An agent that the token may act for; `None`: there is no such agent, or the token may not act for it.
    pub async fn agent_by_id(&self, conversations: &Conversations, id: &str) -> Option<Agent> {
        let id = AgentId::parse(id).ok()?;
        let registry = &conversations.gateway.registry;
        registry.visible_agent(&self.principal, &id).await
    }

    /// The agent of a request: the one that it names, or the only one of the token.
    ///
    /// # Errors
    /// It names none, and the token has several.
    pub fn required_agent(&self) -> Result<AgentId, Problem> {
        self.named_agent().cloned().ok_or_else(|| self.agent_missing())
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
        conversations: &Conversations,
        tenant: &TenantId,
        operation: &'static str,
    ) -> Result<(), Problem> {
        audit::record_listing(&conversations.gateway, &self.principal, tenant, operation)
    }

    /// How to read a conversation. The read includes what the request has sent, read and written. It is recorded in the audit log, if the
    /// tenant asks for it.
    ///
    /// # Errors
    /// The token lacks the scope `read`; [`not_found`] if it has no access to such a conversation; the token is of all tenants and the
    /// request names no agent; or the record does not answer.
    pub async fn target(&self, conversations: &Conversations, id: &str) -> Result<Target, Problem> {
        let (access, key) = self.conversation(conversations, Scope::Read, id).await?;
        conversations.gateway.record_token_read(&self.principal, (&access, &key), self.call.deadline).await?;
        Ok(Target {
            fence: positions::fence(&conversations.gateway, &key).await?,
            access,
            key,
            freshness: Freshness::Fresh,
            deadline: self.call.deadline,
        })
    }

    /// The target of a command of the writer, which authorizes it by the caller's token.
    ///
    /// # Errors
    /// As [`BackEnd::target`], for the scope `append`.
    pub async fn command_target(
        &self,
        conversations: &Conversations,
        id: &str,
        key: Option<CommitId>,
    ) -> Result<write::CommandTarget, Problem> {
        let (access, conversation) = self.conversation(conversations, Scope::Append, id).await?;
        Ok(command_target(&access.agent, &conversation.conversation, key))
    }

    /// Permission to act in a conversation, and its key. Whether the agent has such a conversation is not checked.
    ///
    /// # Errors
    /// As [`BackEnd::target`], for this scope.
    pub async fn conversation(
        &self,
        conversations: &Conversations,
        scope: Scope,
        id: &str,
    ) -> Result<(AgentAccess, ConversationKey), Problem> {
        let conversation = ConversationId::parse(id).map_err(|_| not_found())?;
        let agent = match (self.named_agent(), &self.principal.tenant) {
            (Some(agent), _) => agent.clone(),
            (None, Some(tenant)) => {
                // Without the scope, the caller does not learn what exists.
                self.principal.require(scope).map_err(|error| access_problem(&error, self.agent_field))?;
                let key = ConversationKey { tenant: tenant.clone(), conversation: conversation.clone() };
                let (head, _) = head_from_leader(conversations, &key, self.call.deadline).await?;
                if !self.principal.acts_for(&head.agent) {
                    return Err(not_found());
                }
                head.agent
            }
            (None, None) => return Err(self.agent_missing()),
        };
        let access = self.authorize(conversations, scope, &agent).await?;
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
    /// As [`BackEnd::target`], for this scope.
    pub async fn conversation_of(
        &self,
        conversations: &Conversations,
        scope: Scope,
        owner: Option<&Owner>,
        id: ConversationId,
    ) -> Result<ConversationId, Problem> {
        let (Some(owner), Some(agent)) = (owner, self.named_agent()) else {
            return Ok(id);
        };
        if id.is_history() {
            return Ok(id);
        }
        let access = self.authorize(conversations, scope, agent).await?;
        let found = find(conversations, &access, owner, id.as_str(), ReadFrom::Leader).await?;
        Ok(found.map_or(id, |key| key.conversation))
    }

    /// Permission to act for an agent.
    ///
    /// # Errors
    /// The token lacks the scope; a missing agent and a foreign one look alike.
    pub async fn authorize(
        &self,
        conversations: &Conversations,
        scope: Scope,
        agent: &AgentId,
    ) -> Result<AgentAccess, Problem> {
        request::authorize(&conversations.gateway, &self.principal, scope, (agent, self.agent_field)).await
    }

    fn agent_missing(&self) -> Problem {
        let rule = "is required unless the token is bound to one agent: send the agent of the conversation";
        Violation::new(ViolationReason::Missing, rule).within(self.agent_field).into()
    }
}
