//! The first commit of a conversation, while its partition is unknown.
//!
//! Two processes may know two neighbouring stages of a growth, and create the same conversation. Both use the log of one
//! partition to decide who is first:
//! - `Announced` and `Closing`: the previous partition. One stores its commit there, the other a message that closes the subject.
//! - `Closing` and `Open`: the new partition. The previous one has no commit, and is closed or gets none any more.
//!
//! `model.rs` explores every order of these steps.

#[cfg(test)]
mod model;

use domain::{ConversationKey, Creation, Partition};
use tokio::time::Instant;

use crate::append::Route;
use crate::append::resolve::wait;
use crate::append::{Append, AppendOutcome};
use crate::connection::get::MessageQuery;
use crate::connection::publish::Publication;
use crate::connection::read_limit::Source;
use crate::error::Unavailable;
use crate::message::StoredMessage;
use crate::record::Record;

/// Maximum attempts, each with a layout that was just read: a stage can follow during an attempt.
const ATTEMPTS_MAX: u32 = 8;

impl Record {
    /// Appends the first commit of a conversation in the partition that the layout chooses.
    pub(crate) async fn append_first(
        &self,
        key: &ConversationKey,
        append: &Append,
        deadline: Instant,
    ) -> Result<AppendOutcome, Unavailable> {
        for attempt in 0..ATTEMPTS_MAX {
            let creation = self.known_layout().recent().await?.creation(key);
            if let Some(last) = self.prepare(key, &creation, deadline).await? {
                return Ok(self.superseded(key, last));
            }
            let route = Route::new(creation.partition, key);
            match self.append_at(&route, append, deadline).await? {
                // It was closed: this process knows an earlier stage.
                AppendOutcome::Superseded { last: Some(last) } if last.message.is_empty() => {
                    self.read_layout().await?;
                    wait(attempt, deadline).await?;
                }
                AppendOutcome::Superseded { last: Some(last) } => {
                    return Ok(self.superseded(key, last));
                }
                outcome @ (AppendOutcome::Committed { .. }
                | AppendOutcome::Duplicate { .. }
                | AppendOutcome::Superseded { last: None }) => {
                    self.locations().insert(key.clone(), creation.partition);
                    return Ok(outcome);
                }
            }
        }
        Err(Unavailable::new("partitions are being added"))
    }

    fn superseded(&self, key: &ConversationKey, last: StoredMessage) -> AppendOutcome {
        let partition = last.position.partition;
        self.locations().insert(key.clone(), partition);
        AppendOutcome::Superseded { last: Some(last) }
    }

    /// Closes the previous partition, and checks that the others are empty. Returns the last commit if there is one.
    async fn prepare(
        &self,
        key: &ConversationKey,
        creation: &Creation,
        deadline: Instant,
    ) -> Result<Option<StoredMessage>, Unavailable> {
        for other in &creation.others {
            if let Some(last) = self.last_in(*other, key, Source::Leader).await? {
                return Ok(Some(last));
            }
        }
        match creation.close {
            Some(previous) => self.close(previous, key, deadline).await,
            None => Ok(None),
        }
    }

    /// Closes a conversation's subject in a partition, so that no first commit can be stored in it. Returns the last commit if
    /// there is one.
    async fn close(
        &self,
        partition: Partition,
        key: &ConversationKey,
        deadline: Instant,
    ) -> Result<Option<StoredMessage>, Unavailable> {
        let route = Route::new(partition, key);
        for attempt in 0..ATTEMPTS_MAX {
            let closing = Publication { subject: route.subject.clone(), ..Publication::default() };
            let ack_deadline = Self::ack_deadline(deadline);
            // Whatever the answer is, the log decides.
            let _ = self.connection().publish(closing, ack_deadline).await;
            let last = self.get_from_leader(&route.stream, &MessageQuery::LastOfSubject(&route.subject)).await;
            match last {
                Ok(Some(last)) if last.is_closing() => return Ok(None),
                Ok(Some(last)) => return Ok(Some(StoredMessage::of(partition, last))),
                Ok(None) | Err(_) => wait(attempt, deadline).await?,
            }
        }
        Err(Unavailable::new("a subject cannot be closed"))
    }
}
