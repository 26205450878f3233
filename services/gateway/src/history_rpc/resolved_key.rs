//! Resolves the key of a call to a conversation and its channel.

use domain::{AgentId, Violation};
use keyed_history::{HistoryKey, KeyRules, Namespace, RefusedKey, Variables, resolve};
use wire::proto::history::v1 as proto;
use wire::status::Problem;

use conversations::keyed_histories::{HistoryLocation, Warning};
use conversations::request::{Call, agent_id, missing};
use conversations::{Gateway, metrics};

/// The resolved key of a call, after authorization.
#[derive(Debug)]
pub(super) struct ResolvedKey {
    /// The key; `None`: no candidate is valid.
    key: Option<HistoryKey>,
    /// The location of its history, or why it is unknown.
    location: Result<HistoryLocation, Warning>,
    refused: Vec<RefusedKey>,
}

impl ResolvedKey {
    /// # Errors
    /// A field breaks a rule, or the caller may not read the agent's conversations.
    pub(super) async fn of(gateway: &Gateway, call: &Call, key: Option<proto::HistoryKey>) -> Result<Self, Problem> {
        let mut key = key.ok_or_else(|| missing().within("key"))?;
        let agent = call.agent(gateway, &key.agent_id).await;
        key.agent_id = agent.map_err(|violation| violation.within("key"))?.to_string();
        let candidates: Vec<&str> = key.history_key_candidates.iter().map(String::as_str).collect();
        let template = key.history_key_template.as_str();
        let rules = KeyRules { template: (!template.is_empty()).then_some(template), candidates: &candidates };
        let scope = Scope::of(&key, &rules).map_err(|violation| violation.within("key"))?;
        let access = call.authorize(gateway, scope.agent.clone(), "key.agent_id").await?;
        let resolution = resolve(&rules, &scope.variables);
        for refused in &resolution.refused {
            metrics::history_key_refused(refused.reason.as_str());
        }
        let location = match &resolution.key {
            None => Err(Warning::NoValidKey),
            Some(key) => HistoryLocation::of(gateway, access, &scope.namespace, key, call.deadline),
        };
        Ok(Self { key: resolution.key, location, refused: resolution.refused })
    }

    /// The location of the history, or why it is unknown.
    pub(super) fn location(&self) -> Result<&HistoryLocation, Warning> {
        self.location.as_ref().map_err(|warning| *warning)
    }

    /// The key for answers; empty: none.
    pub(super) fn history_key(&self) -> String {
        let key = self.key.as_ref().map(HistoryKey::as_str);
        key.unwrap_or_default().to_owned()
    }

    /// The conversation id for answers; empty: none.
    pub(super) fn conversation_id(&self) -> String {
        let location = self.location.as_ref().ok();
        let conversation = location.map(HistoryLocation::conversation_id);
        conversation.unwrap_or_default().to_owned()
    }

    /// The channel id for answers; empty: none.
    pub(super) fn channel_id(&self) -> String {
        let channel = self.location.as_ref().map(|location| location.channel.as_str());
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
            namespace: Namespace::parse(&key.namespace).map_err(|violation| violation.within("namespace"))?,
            variables: Variables::parse(&key.variables_json).map_err(|violation| violation.within("variables_json"))?,
        })
    }
}
