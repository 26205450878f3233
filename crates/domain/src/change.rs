//! The changes that commits make to the row of a conversation: the fold of projector, gateway and verifier.

use crate::commit::Commit;
use crate::conversation::Conversation;
use crate::event::{ClientContext, Fact, Lifecycle};
use crate::field_change::FieldChange;
use crate::head::Head;
use crate::id::{ConversationId, TenantId};
use crate::json::JsonText;
use crate::position::{Position, Version};
use crate::time::Timestamp;

/// The changes of successive commits of one conversation: the last head, and the last value of each large field.
///
/// It needs no earlier state, so a projector applies a batch without reading a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The tenant.
    pub tenant: TenantId,
    /// The conversation.
    pub conversation: ConversationId,
    /// The version of the first event.
    pub first_version: Version,
    /// The head after its last commit.
    pub head: Head,
    /// The position of the last commit.
    pub position: Position,
    /// The fields that only the first commit of a conversation sets.
    pub creation: Option<Creation>,
    /// The title, if a commit set or cleared it.
    pub title: Option<FieldChange<String>>,
    /// The metadata, if a commit set or cleared it.
    pub metadata: Option<FieldChange<JsonText>>,
    /// The stored bytes of the commits.
    pub stored_bytes: u64,
}

/// The fields that the first commit of a conversation sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Creation {
    /// When it was recorded.
    pub created_at: Timestamp,
    /// The client's context.
    pub client_context: ClientContext,
}

impl Change {
    /// The change by one commit.
    #[must_use]
    pub fn new(commit: &Commit, position: Position) -> Self {
        let mut change = Self {
            tenant: commit.tenant.clone(),
            conversation: commit.conversation.clone(),
            first_version: commit.first_version,
            head: commit.head.clone(),
            position,
            creation: None,
            title: None,
            metadata: None,
            stored_bytes: 0,
        };
        change.absorb_fields(commit);
        change
    }

    /// Adds the next commit of the same conversation.
    pub fn absorb(&mut self, commit: &Commit, position: Position) {
        self.head = commit.head.clone();
        self.position = position;
        self.absorb_fields(commit);
    }

    /// The row after the change; `None` if the row is missing and the change does not contain the first commit.
    #[must_use]
    pub fn apply(self, row: Option<Conversation>) -> Option<Conversation> {
        let (created_at, client_context, title, metadata) = match (self.creation, row) {
            (Some(first), _) => (first.created_at, first.client_context, None, None),
            (None, Some(row)) => (row.created_at, row.client_context, row.title, row.metadata),
            (None, None) => return None,
        };
        Some(Conversation {
            tenant: self.tenant,
            id: self.conversation,
            head: self.head,
            position: self.position,
            created_at,
            title: self.title.map_or(title, FieldChange::into_value),
            metadata: self.metadata.map_or(metadata, FieldChange::into_value),
            client_context,
        })
    }

    fn absorb_fields(&mut self, commit: &Commit) {
        self.stored_bytes = self.stored_bytes.saturating_add(commit.stored_bytes);
        for event in &commit.events {
            if let Fact::Lifecycle(Lifecycle::ConversationCreated(created)) = &event.fact {
                self.creation =
                    Some(Creation { created_at: commit.recorded_at, client_context: created.client_context.clone() });
                self.title = Some(FieldChange::to(created.title.clone()));
                self.metadata = Some(FieldChange::to(created.metadata.clone()));
            }
            if let Fact::Lifecycle(Lifecycle::ConversationUpdated(updated)) = &event.fact {
                self.title = updated.title.clone().or(self.title.take());
                self.metadata = updated.metadata.clone().or(self.metadata.take());
            }
        }
    }
}
