//! The output of a response: the items of its run's facts, with ids that are known before they are recorded.

use domain::event::{Event, EventTokens, RecordedEvent};
use domain::{CommitId, ConversationId, EventId, Fact, RunId, Timestamp, Version};
use uuid::Uuid;

use crate::conversation_ids::api_id;
use crate::items::item_id::ItemId;
use crate::items::stored_item::{StoredItem, items};

/// The name of the conversation in ids of items that are not recorded.
const NO_CONVERSATION: &str = "unstored";

/// Where the events of a run are recorded.
#[derive(Debug, Clone)]
pub struct OutputPlace {
    commit: CommitId,
    /// The version of the first event, unless another commit precedes it.
    first: Version,
    /// The conversation, by its id in the API.
    conversation: String,
}

impl OutputPlace {
    /// The place of a run that started with the event of this version.
    #[must_use]
    pub fn of(run: RunId, started: Version, conversation: &ConversationId) -> Self {
        Self { commit: run.finish_commit(), first: started.next(), conversation: api_id(conversation).to_owned() }
    }

    /// The place of an answer that is not recorded.
    #[must_use]
    pub fn unrecorded() -> Self {
        Self {
            commit: RunId(Uuid::now_v7()).finish_commit(),
            first: Version(1),
            conversation: NO_CONVERSATION.to_owned(),
        }
    }

    /// The id of an item before it is complete: of the event with this index, the item of its type with this ordinal.
    #[must_use]
    pub fn item_id(&self, event: usize, item_type: &str, ordinal: usize) -> String {
        let id = ItemId {
            event: EventId::derived(self.commit, event),
            version: self.first.plus(event),
            ordinal,
            conversation: self.conversation.clone(),
        };
        id.text(item_type)
    }

    /// The items of facts; `offset` is the number of facts of the run before them.
    #[must_use]
    pub fn items(&self, facts: &[Fact], offset: usize) -> Vec<StoredItem> {
        let events = facts.iter().enumerate().map(|(index, fact)| {
            let index = offset + index;
            RecordedEvent {
                version: self.first.plus(index),
                commit: self.commit,
                recorded_at: Timestamp(0),
                event: Event {
                    id: EventId::derived(self.commit, index),
                    occurred_at: None,
                    metadata: None,
                    tokens: EventTokens::default(),
                    fact: fact.clone(),
                },
            }
        });
        // A model's facts are documents that were parsed as JSON.
        events.flat_map(|event| items(&event, &self.conversation).unwrap_or_default()).collect()
    }
}
