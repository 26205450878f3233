//! A message of the record, opened: what a lane is to write. Pure.

use domain::{ConversationId, ConversationKey, TenantId, Timestamp};
use event_log::StoredMessage;
use prost::Message as _;
use read_model::projections::conversations::{Item, PlacedCommit};
use wire::proto::event::v1 as proto;

/// About what an event takes in memory besides its texts, in bytes.
const EVENT_OVERHEAD_BYTES: usize = 1_024;

/// What a message comes to.
#[derive(Debug)]
pub(crate) struct OpenedMessage {
    /// What is to be written; `None` for a message that not even names a conversation.
    pub(crate) item: Option<Item>,
    /// How many rows of events it makes.
    pub(crate) rows: usize,
    /// About how many bytes it takes in memory.
    pub(crate) bytes: usize,
    /// When it was recorded.
    pub(crate) recorded_at: Option<Timestamp>,
}

/// Opens a message.
pub(crate) fn open(message: &StoredMessage) -> OpenedMessage {
    match message.open() {
        Ok(stored) => {
            let commit = &stored.opened.commit;
            OpenedMessage {
                rows: commit.events.len(),
                // The body, and the texts that were read out of it.
                bytes: 2 * stored.opened.body.len() + EVENT_OVERHEAD_BYTES * (1 + commit.events.len()),
                recorded_at: Some(commit.recorded_at),
                item: Some(Item::Commit(Box::new(PlacedCommit {
                    position: stored.position,
                    opened: stored.opened,
                }))),
            }
        }
        Err(corrupt) => OpenedMessage {
            item: key_of(message).map(|key| Item::Unreadable {
                key,
                sequence: message.position.sequence,
                reason: format!("{corrupt}: {}", corrupt.source),
            }),
            rows: 0,
            bytes: EVENT_OVERHEAD_BYTES,
            recorded_at: None,
        },
    }
}

/// The conversation that a message names, in its envelope, where that much can be read.
fn key_of(message: &StoredMessage) -> Option<ConversationKey> {
    let envelope = proto::Commit::decode(message.message.clone()).ok()?.envelope?;
    Some(ConversationKey {
        tenant: TenantId::parse(envelope.tenant_id).ok()?,
        conversation: ConversationId::parse(envelope.conversation_id).ok()?,
    })
}
