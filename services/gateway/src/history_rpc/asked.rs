//! Whose history a call asks for.

use domain::{AgentId, ChannelId, ConversationKey, Violation};
use event_log::registry::{AgentAccess, KeyPurpose};
use keyed_history::{HistoryIds, HistoryKey, KeyRules, Namespace, Refused, Variables, resolve};
use wire::proto::history::v1 as proto;
use wire::status::Problem;

use super::warning::Warning;
use crate::Gateway;
use crate::metrics;
use crate::request::{Call, agent_id, missing};
use history::{Freshness, Target};

/// What a call asks for, once the caller may.
#[derive(Debug)]
pub(super) struct Asked {
    /// The key; `None`: no candidate is one.
    key: Option<HistoryKey>,
    /// Where its history is kept, or why that cannot be told.
    pub(super) keyed: Result<Keyed, Warning>,
    /// The candidates that are no keys.
    pub(super) refused: Vec<Refused>,
}

/// Where a history is kept.
#[derive(Debug)]
pub(super) struct Keyed {
    /// The owner that its conversation must have.
    pub(super) channel: ChannelId,
    /// Its conversation.
    pub(super) target: Target,
}

impl Asked {
    /// # Errors
    /// A field breaks a rule, or the caller may not read the agent's conversations.
    pub(super) async fn of(
        gateway: &Gateway,
        call: &Call,
        key: Option<proto::HistoryKey>,
    ) -> Result<Self, Problem> {
        let key = key.ok_or_else(|| missing().within("key"))?;
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
        let keyed = ids.map(|ids| Keyed::of(ids, access, call));
        Ok(Self {
            key: resolution.key,
            keyed,
            refused: resolution.refused,
        })
    }

    /// The key as answers name it.
    pub(super) fn history_key(&self) -> String {
        let key = self.key.as_ref().map(HistoryKey::as_str);
        key.unwrap_or_default().to_owned()
    }

    /// The conversation as answers name it.
    pub(super) fn conversation_id(&self) -> String {
        let keyed = self.keyed.as_ref().ok();
        let conversation = keyed.map(|keyed| keyed.target.key.conversation.as_str());
        conversation.unwrap_or_default().to_owned()
    }

    /// The channel as answers name it.
    pub(super) fn channel_id(&self) -> String {
        let channel = self.keyed.as_ref().map(|keyed| keyed.channel.as_str());
        channel.unwrap_or_default().to_owned()
    }

    /// The refused candidates as answers name them.
    pub(super) fn refused_keys(&self) -> Vec<proto::RefusedKey> {
        let refused = self.refused.iter().map(|refused| proto::RefusedKey {
            candidate: refused.candidate.clone(),
            reason: refused.reason.as_str().to_owned(),
        });
        refused.collect()
    }

    /// Logs what a caller is warned of, in its place.
    pub(super) fn log(&self, warning: Warning) {
        let conversation = self.conversation_id();
        tracing::warn!(
            conversation.id = conversation,
            code = warning.code(),
            "history falls short"
        );
    }
}

impl Keyed {
    fn of(ids: HistoryIds, access: AgentAccess, call: &Call) -> Self {
        Self {
            channel: ids.channel,
            target: Target {
                key: ConversationKey {
                    tenant: access.tenant.tenant().clone(),
                    conversation: ids.conversation,
                },
                access,
                // Callers keep no position tokens: what one call recorded, the next one reads.
                freshness: Freshness::Leader,
                fence: None,
                deadline: call.deadline,
            },
        }
    }
}

/// What a key's rules are applied to, checked like them.
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

    /// The ids of a key's history. A tenant of an earlier version has no channel key until a writer has made its secret.
    fn ids(
        &self,
        gateway: &Gateway,
        access: &AgentAccess,
        key: &HistoryKey,
    ) -> Result<HistoryIds, Warning> {
        let tenant = access.tenant.tenant();
        let channel_key = gateway.registry.tenant_key(tenant, KeyPurpose::Channel);
        let channel_key = channel_key.ok_or(Warning::Unavailable)?;
        let (agent, namespace) = (&self.agent, &self.namespace);
        Ok(HistoryIds::derive(
            channel_key.as_bytes(),
            agent,
            namespace,
            key,
        ))
    }
}
