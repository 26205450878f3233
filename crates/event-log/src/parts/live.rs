//! Parts as they are stored.

use domain::{ConversationKey, Partition, RunId};

use super::StoredParts;
use crate::error::Unavailable;
use crate::live::LiveMessages;
use crate::record::Record;

/// What a live subscription to a run tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LivePartsItem {
    /// A batch was stored.
    Parts(StoredParts),
    /// Batches may have been missed: read what came since the last one that was seen. Told as
    /// [`crate::LiveItem::Gap`] is.
    Gap,
}

/// The parts of a run as they are stored, beginning with its subscription. Dropping it is how to stop.
#[derive(Debug)]
pub struct LiveParts {
    partition: Partition,
    messages: LiveMessages,
}

impl LiveParts {
    /// The next item; waits for ever. Safe to cancel.
    pub async fn next(&mut self) -> LivePartsItem {
        match self.messages.next().await {
            Some(message) => LivePartsItem::Parts(StoredParts::of(self.partition, message)),
            None => LivePartsItem::Gap,
        }
    }
}

impl Record {
    /// Subscribes to the parts of a run. A reader subscribes first, reads what is there, then goes on by part number.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn live_parts(
        &self,
        key: &ConversationKey,
        run: RunId,
    ) -> Result<LiveParts, Unavailable> {
        let place = self.parts_place(key, run);
        Ok(LiveParts {
            partition: place.partition,
            messages: self.subscribe(&place.subject).await?,
        })
    }
}
