//! The selection of commits for `tail` and `replay`, and the stream of selected commits.

mod archived;
mod messages;
mod time_arg;

pub(crate) use messages::{ReadUntil, messages};

use std::collections::BTreeMap;

use archive::Archive;
use domain::{ConversationId, ConversationKey, Partition, Sequence, TenantId, Timestamp};
use event_log::{FollowedMessage, Record, StoredMessage, TimedSequence, Unavailable};
use futures::stream::BoxStream;

use crate::exit::UsageError;
use crate::ids::{conversation, key, tenant};

/// The arguments that select commits.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Selection {
    /// Only this partition, from 0.
    #[arg(long, conflicts_with = "conversation")]
    partition: Option<u16>,
    /// Only this tenant.
    #[arg(long, value_parser = tenant)]
    tenant: Option<TenantId>,
    /// Only this conversation of `--tenant`.
    #[arg(long, requires = "tenant", value_parser = conversation)]
    conversation: Option<ConversationId>,
    /// Only commits after this sequence of their partition.
    #[arg(long, default_value_t = 0)]
    after: u64,
    #[command(flatten)]
    times: Times,
    /// Do not read archived commits.
    #[arg(long)]
    without_archive: bool,
}

/// A range of storage times by the server's clock: `since` is included, `until` is excluded.
#[derive(Debug, Clone, Copy, clap::Args)]
struct Times {
    /// Only commits that were stored at this time or later, by the server's clock: RFC 3339, such as 2026-09-21T14:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = time_arg::parse)]
    since: Option<Timestamp>,
    /// Only commits that were stored before this time.
    #[arg(long, value_name = "TIME", value_parser = time_arg::parse)]
    until: Option<Timestamp>,
}

/// A message of the record and the conversation of its subject; `None`: the subject is not that of a conversation.
#[derive(Debug, Clone)]
pub(crate) struct SelectedMessage {
    pub(crate) key: Option<ConversationKey>,
    pub(crate) message: StoredMessage,
}

impl From<FollowedMessage> for SelectedMessage {
    fn from(followed: FollowedMessage) -> Self {
        Self { key: followed.key, message: followed.message }
    }
}

type Messages = BoxStream<'static, anyhow::Result<SelectedMessage>>;

/// The last processed sequence of each partition. A missing partition starts at its beginning.
pub(crate) type Positions = BTreeMap<Partition, Sequence>;

/// A range of sequences of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SequenceRange {
    /// The partition.
    pub(crate) partition: Partition,
    /// The sequence before the range.
    pub(crate) after: Sequence,
    /// Its last sequence.
    pub(crate) through: Sequence,
    /// `after` without the time limits: archived commits are filtered by their own storage time.
    archived_after: Sequence,
    /// `through` without the time limits.
    archived_through: Sequence,
}

impl SequenceRange {
    /// The number of sequences, including holes.
    pub(crate) fn sequences(&self) -> u64 {
        self.through.0.saturating_sub(self.after.0)
    }
}

impl Selection {
    /// The selected conversation, if it is only one.
    fn key(&self) -> Option<ConversationKey> {
        Some(key(self.tenant.as_ref()?, self.conversation.as_ref()?))
    }

    /// Whether the ranges contain commits that are not selected.
    pub(crate) fn is_partial(&self) -> bool {
        self.tenant.is_some()
    }

    /// The current ranges of the selection, after `positions`.
    pub(crate) async fn ranges(&self, archive: &Archive, positions: &Positions) -> anyhow::Result<Vec<SequenceRange>> {
        let record = archive.record();
        let partitions = self.partitions(archive).await?;
        let mut ranges = Vec::with_capacity(partitions.len());
        for partition in partitions {
            let mut range = self.range(record, partition).await?;
            if let Some(position) = positions.get(&partition) {
                range.after = range.after.max(*position);
                range.archived_after = range.archived_after.max(*position);
            }
            ranges.push(range);
        }
        Ok(ranges)
    }

    async fn partitions(&self, archive: &Archive) -> anyhow::Result<Vec<Partition>> {
        if let Some(key) = self.key() {
            return Ok(vec![archive.partition_of(&key).await?]);
        }
        let record = archive.record();
        match self.partition {
            Some(partition) if partition >= record.partitions() => {
                let last = record.partitions().saturating_sub(1);
                let message = format!("the partition must be from 0 to {last}, not {partition}");
                Err(UsageError(message).into())
            }
            Some(partition) => Ok(vec![Partition(partition)]),
            None => Ok((0..record.partitions()).map(Partition).collect()),
        }
    }

    async fn range(&self, record: &Record, partition: Partition) -> Result<SequenceRange, Unavailable> {
        let last = record.bounds_of(partition).await?.last;
        let after = Sequence(self.after);
        let mut range =
            SequenceRange { partition, after, through: last, archived_after: after, archived_through: last };
        if let Some(since) = self.times.since {
            let first = record.first_since(partition, since).await?;
            range.after = range.after.max(before(first, last));
        }
        if let Some(until) = self.times.until {
            let first = record.first_since(partition, until).await?;
            range.through = before(first, last);
        }
        Ok(range)
    }
}

/// The sequence before a message; without one, the partition's last.
fn before(message: Option<TimedSequence>, last: Sequence) -> Sequence {
    message.map_or(last, |message| Sequence(message.sequence.0.saturating_sub(1)))
}
