//! The rules of a conversation, watched event by event.

use std::collections::BTreeMap;

use domain::{CallId, Fact, Status, ToolName};

/// What a watcher keeps of a conversation.
#[derive(Debug, Clone, Default)]
pub(super) struct Watcher {
    open: BTreeMap<CallId, ToolName>,
    status: Option<Status>,
}

impl Watcher {
    /// Takes the next fact; what it breaks, in words.
    pub(super) fn take(&mut self, fact: &Fact) -> Option<&'static str> {
        match (self.status, fact) {
            (None, Fact::ConversationCreated(_)) => {
                self.status = Some(Status::Active);
                return None;
            }
            (None, _) => return Some("something happened before the beginning"),
            (Some(_), Fact::ConversationCreated(_)) => return Some("it began twice"),
            (Some(Status::Erased), _) => return Some("something happened after the erasure"),
            (Some(Status::Active), Fact::ConversationRestored) => {
                return Some("restored, and was active");
            }
            (Some(Status::Archived), fact) if !is_allowed_in_archive(fact) => {
                return Some("something happened in the archive");
            }
            (Some(Status::Active | Status::Archived), _) => {}
        }
        self.apply(fact)
    }

    fn apply(&mut self, fact: &Fact) -> Option<&'static str> {
        match fact {
            Fact::ToolCalled(call) => {
                let earlier = self
                    .open
                    .insert(call.call_id.clone(), call.tool_name.clone());
                earlier.map(|_| "a call was made that was open")
            }
            Fact::ToolReturned(result) => match self.open.remove(&result.call_id) {
                None => Some("a result has no open call"),
                Some(tool) if result.tool_name.as_ref() != Some(&tool) => {
                    Some("a result names another tool than its call")
                }
                Some(_) => None,
            },
            Fact::ConversationArchived => self.become_of(Status::Archived),
            Fact::ConversationRestored => self.become_of(Status::Active),
            Fact::ConversationErased => self.become_of(Status::Erased),
            Fact::MessageAppended(_)
            | Fact::SystemNoted(_)
            | Fact::ErrorOccurred(_)
            | Fact::ConversationCreated(_)
            | Fact::ConversationUpdated(_) => None,
        }
    }

    fn become_of(&mut self, status: Status) -> Option<&'static str> {
        self.status = Some(status);
        None
    }
}

fn is_allowed_in_archive(fact: &Fact) -> bool {
    matches!(fact, Fact::ConversationRestored | Fact::ConversationErased)
}
