//! Reads the record to its end.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, bail};
use domain::{ConversationKey, Layout, Partition, Position, Sequence};
use event_log::Record;
use futures::StreamExt as _;
use tokio::time::timeout;
use wire::commit::Opened;

/// The timeout for the next existing message of a partition.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(20);
/// How often the consumer of a partition may be lost and created again; a retry happens every quarter of a second.
const LOSSES_MAX: u32 = 40;

/// A commit with its position.
#[derive(Debug, Clone)]
pub struct RecordedCommit {
    /// Its position.
    pub position: Position,
    /// The commit, its events' bytes and its body.
    pub opened: Opened,
}

/// Every commit of the record, by the conversation that its subject names, in the order of the streams.
#[derive(Debug, Clone)]
pub struct RecordContents {
    /// The generations of partitions.
    pub layout: Layout,
    /// The commits of each conversation.
    pub conversations: BTreeMap<ConversationKey, Vec<RecordedCommit>>,
}

impl RecordContents {
    /// Reads all partitions up to their current ends.
    ///
    /// # Errors
    /// The record does not answer in time, or holds a message that is no commit.
    pub async fn read(record: &Record) -> anyhow::Result<Self> {
        let mut recorded = Self { layout: record.layout().as_ref().clone(), conversations: BTreeMap::new() };
        for partition in 0..record.partitions() {
            recorded.read_partition(record, Partition(partition)).await?;
        }
        Ok(recorded)
    }

    async fn read_partition(&mut self, record: &Record, partition: Partition) -> anyhow::Result<()> {
        let bounds = record.bounds_of(partition).await?;
        if bounds.first > bounds.last {
            return Ok(());
        }
        let mut messages = record.follow(partition, Sequence(0));
        let mut losses = 0;
        loop {
            let next = timeout(MESSAGE_TIMEOUT, messages.next()).await;
            let Some(followed) = next.with_context(|| format!("partition {partition} stalls"))? else {
                bail!("partition {partition} ended");
            };
            // The consumer stops only after the last message, because a cluster's stream may change its leader.
            let followed = match followed {
                Ok(followed) => followed,
                Err(lost) if losses == LOSSES_MAX => return Err(lost.into()),
                Err(_) => {
                    losses += 1;
                    continue;
                }
            };
            let pending = followed.pending;
            let stored = followed.message.open()?;
            let key = followed.key.context("a subject that names no conversation")?;
            let commit = RecordedCommit { position: stored.position, opened: stored.opened };
            self.conversations.entry(key).or_default().push(commit);
            // An erasure keeps the last commit of its conversation, so the last sequence is usually no hole. It can be
            // one after a server has lost the end of the stream.
            if stored.position.sequence >= bounds.last || pending == 0 {
                return Ok(());
            }
        }
    }

    /// How many commits there are.
    #[must_use]
    pub fn commits(&self) -> usize {
        self.conversations.values().map(Vec::len).sum()
    }

    /// How many events there are.
    #[must_use]
    pub fn events(&self) -> usize {
        let commits = self.conversations.values().flatten();
        commits.map(|commit| commit.opened.commit.events.len()).sum()
    }
}
