//! The conversation of a key, and its owner: the channel.

use domain::{ChannelId, ConversationKey, Owner};
use history::{Deadline, Freshness, Target};
use keyed_history::{HistoryIds, HistoryKey, Namespace};
use registry::{AgentAccess, KeyPurpose};

use super::stored_history::{self, History, HistoryQuery};
use super::warning::Warning;
use crate::Gateway;

/// The conversation that holds a history.
#[derive(Debug)]
pub struct HistoryLocation {
    /// The owner that its conversation must have.
    pub channel: ChannelId,
    /// How to read it.
    pub target: Target,
}

impl HistoryLocation {
    /// The location of an agent's history of a key. A tenant from an earlier version has no channel key until a writer has
    /// created its secret.
    ///
    /// # Errors
    /// [`Warning::Unavailable`]: the tenant has no channel key yet.
    pub fn of(
        gateway: &Gateway,
        access: AgentAccess,
        namespace: &Namespace,
        key: &HistoryKey,
        deadline: Deadline,
    ) -> Result<Self, Warning> {
        let tenant = access.tenant.tenant().clone();
        let secret = gateway.registry.tenant_key(&tenant, KeyPurpose::Channel).ok_or(Warning::Unavailable)?;
        let ids = HistoryIds::derive(secret.as_bytes(), &access.agent, namespace, key);
        Ok(Self {
            channel: ids.channel,
            target: Target {
                key: ConversationKey { tenant, conversation: ids.conversation },
                access,
                // A call reads what the previous one recorded, also without a position token.
                freshness: Freshness::Leader,
                fence: None,
                deadline,
            },
        })
    }

    /// The id of the conversation.
    #[must_use]
    pub fn conversation_id(&self) -> &str {
        self.target.key.conversation.as_str()
    }

    /// Reads the history; `None`: nothing is stored, or it was erased.
    ///
    /// # Errors
    /// It cannot be read, or the conversation belongs to another owner than the key's channel.
    pub(super) async fn read(&self, gateway: &Gateway, end: HistoryQuery) -> Result<Option<History>, Warning> {
        let history = stored_history::read(gateway, &self.target, end).await.map_err(|_| Warning::Unavailable)?;
        let owner = Owner::Channel(self.channel.clone());
        match history {
            Some(history) if history.owner.as_ref() != Some(&owner) => Err(Warning::OwnerMismatch),
            history => Ok(history),
        }
    }
}
