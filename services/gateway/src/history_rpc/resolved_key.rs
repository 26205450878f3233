//! Resolves the key of a call to a conversation and its channel.

use domain::{AgentId, ChannelId, ConversationKey, Owner, Violation};
use event_log::registry::{AgentAccess, KeyPurpose};
use keyed_history::{HistoryIds, HistoryKey, KeyRules, Namespace, RefusedKey, Variables, resolve};
use wire::proto::history::v1 as proto;
use wire::status::Problem;

use super::stored_history::{self, History, HistoryQuery};
use super::warning::Warning;
use crate::request::{Call, agent_id, missing};
use crate::{Gateway, metrics};
use history::{Freshness, Target};

/// The resolved key of a call, after authorization.
#[derive(Debug)]
pub(super) struct ResolvedKey {
    /// The key; `None`: no candidate is valid.
    key: Option<HistoryKey>,
    /// The location of its history, or why it is unknown.
    pub(super) location: Result<HistoryLocation, Warning>,
    pub(super) refused: Vec<RefusedKey>,
}

/// The conversation that holds a history.
#[derive(Debug)]
pub(super) struct HistoryLocation {
    /// The owner that its conversation must have.
    pub(super) channel: ChannelId,
    pub(super) target: Target,
}

impl ResolvedKey {
    /// # Errors
    /// A field breaks a rule, or the caller may not read the agent's conversations.
    pub(super) async fn of(
        gateway: &Gateway,
        call: &Call,
        key: Option<proto::HistoryKey>,
    ) -> Result<Self, Problem> {
        let mut key = key.ok_or_else(|| missing().within("key"))?;
        let agent = call.agent(gateway, &key.agent_id).await;
        key.agent_id = agent
            .map_err(|violation| violation.within("key"))?
            .to_string();
        let candidates: Vec<&str> = key
            .history_key_candidates
            .iter()
            .map(String::as_str)
            .collect();
        let template = key.history_key_template.as_str();
        let rules = KeyRules {
            template: (!template.is_empty()).then_some(template),
            candidates: &candidates,
        };
        let scope = Scope::of(&key, &rules).map_err(|violation| violation.within("key"))?;
        let access = call
            .authorize(gateway, scope.agent.clone(), "key.agent_id")
            .await?;
        let resolution = resolve(&rules, &scope.variables);
        for refused in &resolution.refused {
            metrics::history_key_refused(refused.reason.as_str());
        }
        let ids = match &resolution.key {
            None => Err(Warning::NoValidKey),
            Some(key) => scope.ids(gateway, &access, key),
        };
        let location = ids.map(|ids| HistoryLocation::of(ids, access, call));
        Ok(Self {
            key: resolution.key,
            location,
            refused: resolution.refused,
        })
    }

    /// The key for answers; empty: none.
    pub(super) fn history_key(&self) -> String {
        let key = self.key.as_ref().map(HistoryKey::as_str);
        key.unwrap_or_default().to_owned()
    }

    /// The conversation id for answers; empty: none.
    pub(super) fn conversation_id(&self) -> String {
        let location = self.location.as_ref().ok();
        let conversation = location.map(|location| location.target.key.conversation.as_str());
        conversation.unwrap_or_default().to_owned()
    }

    /// The channel id for answers; empty: none.
    pub(super) fn channel_id(&self) -> String {
        let channel = self
            .location
            .as_ref()
            .map(|location| location.channel.as_str());
        channel.unwrap_or_default().to_owned()
    }

    /// The invalid candidates for answers.
    pub(super) fn refused_keys(&self) -> Vec<proto::RefusedKey> {
        let refused = self.refused.iter().map(|refused| proto::RefusedKey {
            candidate: refused.candidate.clone(),
            reason: refused.reason.as_str().to_owned(),
        });
        refused.collect()
    }

    /// Logs a warning that the caller receives.
    pub(super) fn log(&self, warning: Warning) {
        let conversation = self.conversation_id();
        let code = warning.code();
        tracing::warn!(
            conversation.id = conversation,
            code,
            "a history call returns a warning"
        );
    }
}

impl HistoryLocation {
    fn of(ids: HistoryIds, access: AgentAccess, call: &Call) -> Self {
        Self {
            channel: ids.channel,
            target: Target {
                key: ConversationKey {
                    tenant: access.tenant.tenant().clone(),
                    conversation: ids.conversation,
                },
                access,
                // Callers send no position tokens, but a call must read what the previous one recorded.
                freshness: Freshness::Leader,
                fence: None,
                deadline: call.deadline,
            },
        }
    }

    /// Reads the history; `None`: nothing is stored, or it was erased.
    ///
    /// # Errors
    /// It cannot be read, or the conversation belongs to another owner than the key's channel.
    pub(super) async fn read(
        &self,
        gateway: &Gateway,
        end: HistoryQuery,
    ) -> Result<Option<History>, Warning> {
        let history = stored_history::read(gateway, &self.target, end).await;
        let history = history.map_err(|_| Warning::Unavailable)?;
        let owner = Owner::Channel(self.channel.clone());
        match history {
            Some(history) if history.owner.as_ref() != Some(&owner) => Err(Warning::OwnerMismatch),
            history => Ok(history),
        }
    }
}

/// The checked scope of a key.
struct Scope {
    agent: AgentId,
    namespace: Namespace,
    variables: Variables,
}

impl Scope {
    fn of(key: &proto::HistoryKey, rules: &KeyRules<'_>) -> Result<Self, Violation> {
        rules.check()?;
        Ok(Self {
            agent: agent_id(&key.agent_id)?,
            namespace: Namespace::parse(&key.namespace)
                .map_err(|violation| violation.within("namespace"))?,
            variables: Variables::parse(&key.variables_json)
                .map_err(|violation| violation.within("variables_json"))?,
        })
    }

    /// The ids of a key's history. A tenant from an earlier version has no channel key until a writer has created its secret.
    fn ids(
        &self,
        gateway: &Gateway,
        access: &AgentAccess,
        key: &HistoryKey,
    ) -> Result<HistoryIds, Warning> {
        let tenant = access.tenant.tenant();
        let channel_key = gateway.registry.tenant_key(tenant, KeyPurpose::Channel);
        let channel_key = channel_key.ok_or(Warning::Unavailable)?;
        let (secret, agent) = (channel_key.as_bytes(), &self.agent);
        Ok(HistoryIds::derive(secret, agent, &self.namespace, key))
    }
}
