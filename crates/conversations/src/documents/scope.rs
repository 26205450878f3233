//! Whose documents a caller names, and the conversation of a document.

use domain::{ConversationId, ConversationKey, DocumentName, Owner, Position, Violation, ViolationReason};
use history::{Deadline, Freshness, Reader, Snapshot, Target};
use keyed_history::DocumentIds;
use keyed_history::document_ids::owner_or_agent;
use read_model::queries::documents as rows;
use registry::{AgentAccess, KeyPurpose};
use wire::status::{Problem, Reason};

use crate::Gateway;
use crate::problem::RETRY_AFTER;

/// Whose documents, as callers name them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentScope {
    /// The agent's own.
    Agent,
    /// Those of an owner.
    Owner(Owner),
    /// Those of a conversation with other events.
    Conversation(ConversationId),
}

/// A document, and the conversation that contains it.
#[derive(Debug)]
pub struct DocumentLocation {
    /// Its name.
    pub name: DocumentName,
    /// How to read its conversation.
    pub target: Target,
    /// The owner of a new conversation; `None`: it belongs to a conversation with other events.
    pub owner: Option<Owner>,
}

impl DocumentScope {
    /// The location of a document.
    ///
    /// # Errors
    /// The tenant has no secret for ids yet: a writer must create it first.
    pub fn locate(
        self,
        gateway: &Gateway,
        access: AgentAccess,
        name: DocumentName,
        deadline: Deadline,
    ) -> Result<DocumentLocation, Problem> {
        let (conversation, owner) = match self {
            Self::Conversation(conversation) => (conversation, None),
            Self::Agent => derive(gateway, &access, None, &name)?,
            Self::Owner(owner) => derive(gateway, &access, Some(&owner), &name)?,
        };
        Ok(DocumentLocation { name, owner, target: target(access, conversation, deadline) })
    }

    /// The rows of the scope.
    ///
    /// # Errors
    /// As [`DocumentScope::locate`].
    pub fn rows(self, gateway: &Gateway, access: &AgentAccess) -> Result<rows::DocumentScope, Problem> {
        let owner = match self {
            Self::Conversation(conversation) => {
                return Ok(rows::DocumentScope::Conversation(conversation));
            }
            Self::Agent => None,
            Self::Owner(owner) => Some(owner),
        };
        let secret = id_secret(stored_secret(gateway, access))?;
        let owner = owner_or_agent(&secret, &access.agent, owner.as_ref());
        Ok(rows::DocumentScope::Owner(owner))
    }
}

impl DocumentLocation {
    /// The owner of the document.
    ///
    /// # Errors
    /// The document belongs to a conversation with other events, which only appends change.
    pub(super) fn owner(&self) -> Result<&Owner, Violation> {
        owner_of(self.owner.as_ref())
    }
}

fn owner_of(owner: Option<&Owner>) -> Result<&Owner, Violation> {
    owner.ok_or_else(|| {
        let rule = "is a conversation: append document_put or document_deleted to it instead";
        let violation = Violation::new(ViolationReason::Malformed, rule);
        violation.within("conversation_id").within("scope")
    })
}

/// Waits until the rows of a request contain the last commit of a conversation. The caller may see no such conversation.
///
/// # Errors
/// Rows or record are unavailable, or the rows do not contain it in time.
pub(super) async fn wait_for_rows(
    reader: &Reader,
    access: &AgentAccess,
    conversation: &ConversationId,
    deadline: Deadline,
) -> Result<(), Problem> {
    let latest = target(access.clone(), conversation.clone(), deadline);
    let waited = async {
        let snapshot = Snapshot::open(reader, &latest).await?;
        if snapshot.is_in_rows() {
            return Ok(());
        }
        let partition = deadline.record(reader.archive.partition_of(&latest.key));
        let fence = Position { partition: partition.await?, sequence: snapshot.position().sequence };
        let rows = Target {
            freshness: Freshness::Eventual,
            fence: Some(fence),
            ..target(access.clone(), conversation.clone(), deadline)
        };
        Snapshot::open(reader, &rows).await.map(drop)
    };
    match waited.await {
        Err(problem) if problem.reason() == Reason::ConversationNotFound => Ok(()),
        waited => waited,
    }
}

/// A read of a conversation that contains every earlier write, also without a position token.
fn target(access: AgentAccess, conversation: ConversationId, deadline: Deadline) -> Target {
    Target {
        key: ConversationKey { tenant: access.tenant.tenant().clone(), conversation },
        access,
        freshness: Freshness::Leader,
        fence: None,
        deadline,
    }
}

fn derive(
    gateway: &Gateway,
    access: &AgentAccess,
    owner: Option<&Owner>,
    name: &DocumentName,
) -> Result<(ConversationId, Option<Owner>), Problem> {
    let secret = id_secret(stored_secret(gateway, access))?;
    let ids = DocumentIds::derive(&secret, &access.agent, owner, name);
    Ok((ids.conversation, Some(ids.owner)))
}

type IdSecret = [u8; keyed_history::CHANNEL_KEY_BYTES];

fn stored_secret(gateway: &Gateway, access: &AgentAccess) -> Option<IdSecret> {
    let secret = gateway.registry.tenant_key(access.tenant.tenant(), KeyPurpose::Channel);
    secret.map(|secret| *secret.as_bytes())
}

/// The secret that makes ids unguessable: that of the tenant, and no other.
fn id_secret(stored: Option<IdSecret>) -> Result<IdSecret, Problem> {
    stored.ok_or_else(|| {
        let message = "the tenant has no secret for ids yet: start a writer, and try again";
        Problem::new(Reason::RecordUnavailable, message).retry_after(RETRY_AFTER)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_depend_on_the_secret_of_the_tenant() {
        for byte in [0, 1, 7] {
            assert_eq!(id_secret(Some([byte; 32])).unwrap(), [byte; 32]);
        }
        // Never a default: its ids could be guessed.
        let missing = id_secret(None).unwrap_err();
        assert_eq!(missing.reason(), Reason::RecordUnavailable);
        assert!(missing.retry_delay().is_some());
    }

    #[test]
    fn only_documents_outside_of_conversations_have_an_owner() {
        let location = |owner: Option<Owner>| owner_of(owner.as_ref()).cloned();
        let ada = Owner::User(domain::UserId::parse("ada").unwrap());
        assert_eq!(location(Some(ada.clone())), Ok(ada));
        assert_eq!(location(None).unwrap_err().field, "scope.conversation_id");
    }
}
