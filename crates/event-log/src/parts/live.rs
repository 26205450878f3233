//! Live subscriptions to the parts of a run.

use domain::{ConversationKey, RunId};

use super::StoredParts;
use crate::error::Unavailable;
use crate::read::live::LiveMessages;
use crate::record::Record;
use crate::topology;

/// An item of a live subscription to a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LivePartsItem {
    /// A batch was stored.
    Parts(StoredParts),
    /// Batches may be missing: read those after the last known one. See [`crate::LiveItem::Gap`].
    Gap,
}

/// The parts of a run that are stored after the subscription. Drop it to stop.
#[derive(Debug)]
pub struct LiveParts {
    messages: LiveMessages,
}

impl LiveParts {
    /// The next item; waits without a limit. Cancel-safe.
    pub async fn next(&mut self) -> LivePartsItem {
        loop {
            let Some(message) = self.messages.next().await else {
                return LivePartsItem::Gap;
            };
            if let Some(partition) = topology::partition_of(&message.subject) {
                return LivePartsItem::Parts(StoredParts::from_message(partition, message));
            }
        }
    }
}

impl Record {
    /// Subscribes to the parts of a run. A reader subscribes first, reads the stored parts, then continues by part number.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn live_parts(&self, key: &ConversationKey, run: RunId) -> Result<LiveParts, Unavailable> {
        let subject = topology::parts_subject_in_any_partition(key, run);
        Ok(LiveParts { messages: self.subscribe(&subject).await? })
    }
}
