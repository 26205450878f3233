//! Finds the partition of a conversation.
//!
//! A conversation is in one of the candidates of the layout. Without growth there is one. Otherwise all are asked until one has a
//! commit; the partition is then remembered, because a conversation stays where it is.
//!
//! A message without a payload closes a subject: no first commit can be stored after it. It is no commit.

use domain::{ConversationKey, Layout, Partition};
use futures::future::try_join_all;

use crate::append::Route;
use crate::connection::get::MessageQuery;
use crate::connection::read_limit::Source;
use crate::error::Unavailable;
use crate::message::StoredMessage;
use crate::record::Record;

impl Record {
    /// The partition of a conversation; of one without commits, that of its first commit.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn partition_of(&self, key: &ConversationKey) -> Result<Partition, Unavailable> {
        match self.known_partition(key) {
            Some(known) => Ok(known),
            // Boxed, because it is rare and its future is large.
            None => Box::pin(self.look_up(key)).await,
        }
    }

    /// Remembers the partition of a hibernated conversation, which is in no stream.
    pub fn remember(&self, key: &ConversationKey, partition: Partition) {
        if self.layout().only_candidate(key).is_none() {
            self.locations().insert(key.clone(), partition);
        }
    }

    async fn look_up(&self, key: &ConversationKey) -> Result<Partition, Unavailable> {
        for source in [Source::Replica, Source::Leader] {
            if let Some(last) = self.last_of(key, source).await? {
                return Ok(last.position.partition);
            }
        }
        Ok(self.layout().creation(key).partition)
    }

    /// The partition of a conversation that can be in only one, or was found before.
    #[must_use]
    pub fn known_partition(&self, key: &ConversationKey) -> Option<Partition> {
        let only = self.layout().only_candidate(key);
        only.or_else(|| self.locations().get(key))
    }

    /// The last commit of a conversation.
    pub(crate) async fn last_of(
        &self,
        key: &ConversationKey,
        source: Source,
    ) -> Result<Option<StoredMessage>, Unavailable> {
        loop {
            let layout = self.layout();
            let found = match self.known_partition(key) {
                Some(partition) => self.last_in(partition, key, source).await?,
                None => Box::pin(self.last_in_candidates(&layout, key, source)).await?,
            };
            // Nothing is absent by a layout of the past.
            if found.is_some() || self.known_layout().recent().await? == layout {
                return Ok(found);
            }
        }
    }

    /// The last commit of a conversation whose partition is unknown; it is known then.
    async fn last_in_candidates(
        &self,
        layout: &Layout,
        key: &ConversationKey,
        source: Source,
    ) -> Result<Option<StoredMessage>, Unavailable> {
        let reads = layout.candidates(key).into_iter().map(|partition| self.last_in(partition, key, source));
        let found = try_join_all(reads).await?.into_iter().flatten().next();
        if let Some(last) = &found {
            self.locations().insert(key.clone(), last.position.partition);
        }
        Ok(found)
    }

    /// The last commit of a conversation in a partition.
    pub(crate) async fn last_in(
        &self,
        partition: Partition,
        key: &ConversationKey,
        source: Source,
    ) -> Result<Option<StoredMessage>, Unavailable> {
        let route = Route::new(partition, key);
        let last = MessageQuery::LastOfSubject(&route.subject);
        let message = match source {
            Source::Replica => {
                let connection = self.connection();
                connection.get(&route.stream, last, self.deadline()).await?
            }
            Source::Leader => self.get_from_leader(&route.stream, &last).await?,
        };
        let commit = message.filter(|message| !message.is_closing());
        Ok(commit.map(|message| StoredMessage::of(partition, message)))
    }
}
