//! Which commits of the record a command is about, and the stream of them: what `tail` and `replay` share.

mod archived;
mod chosen;
mod messages;
mod moment;

pub use chosen::Chosen;
pub use messages::{Reach, messages};

use std::collections::BTreeMap;

use domain::{ConversationId, ConversationKey, Partition, Sequence, TenantId, Timestamp};
use event_log::{Record, StoredAt, Unavailable};

use crate::exit::UsageError;
use crate::ids::{conversation, tenant};

/// Which commits.
#[derive(Debug, Clone, clap::Args)]
pub struct Selection {
    /// Only this partition, from 0.
    #[arg(long, conflicts_with = "conversation")]
    partition: Option<u16>,
    /// Only this tenant.
    #[arg(long, value_parser = tenant)]
    tenant: Option<TenantId>,
    /// Only this conversation of `--tenant`.
    #[arg(long, requires = "tenant", value_parser = conversation)]
    conversation: Option<ConversationId>,
    /// Only what comes after this sequence of its partition.
    #[arg(long, default_value_t = 0)]
    after: u64,
    /// Only what was stored at this time or later, by the server's clock: RFC 3339, such as 2026-09-21T14:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = moment::parse)]
    since: Option<Timestamp>,
    /// Only what was stored before this time.
    #[arg(long, value_name = "TIME", value_parser = moment::parse)]
    until: Option<Timestamp>,
    /// Leave out what is in the archive alone.
    #[arg(long)]
    without_archive: bool,
}

/// From when to when, by the server's clock: the first is in, the second is not.
#[derive(Debug, Clone, Copy)]
struct Times {
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

/// How far each partition was gone through; what is not there was not begun.
pub type Places = BTreeMap<Partition, Sequence>;

/// A stretch of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The partition.
    pub partition: Partition,
    /// What comes before it.
    pub after: Sequence,
    /// Its last sequence.
    pub through: Sequence,
    /// Where it would lie whatever the times are: what is archived is chosen by its own.
    within: Bounds,
}

/// Sequences after one, through another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bounds {
    after: Sequence,
    through: Sequence,
}

impl Span {
    /// How many sequences it has, holes among them.
    #[must_use]
    pub fn sequences(&self) -> u64 {
        self.through.0.saturating_sub(self.after.0)
    }
}

impl Selection {
    /// The one conversation that is chosen.
    fn key(&self) -> Option<ConversationKey> {
        Some(ConversationKey {
            tenant: self.tenant.clone()?,
            conversation: self.conversation.clone()?,
        })
    }

    fn times(&self) -> Times {
        Times {
            since: self.since,
            until: self.until,
        }
    }

    /// Whether some commits of the stretches are not chosen.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.tenant.is_some()
    }

    /// The stretches that it lies in as the record stands now, without what `places` are past.
    ///
    /// # Errors
    /// [`UsageError`] when there is no such partition, or [`Unavailable`].
    pub async fn spans(&self, record: &Record, places: &Places) -> anyhow::Result<Vec<Span>> {
        let partitions = self.partitions(record)?;
        let mut spans = Vec::with_capacity(partitions.len());
        for partition in partitions {
            let mut span = self.span(record, partition).await?;
            if let Some(place) = places.get(&partition) {
                span.after = span.after.max(*place);
                span.within.after = span.within.after.max(*place);
            }
            spans.push(span);
        }
        Ok(spans)
    }

    fn partitions(&self, record: &Record) -> Result<Vec<Partition>, UsageError> {
        if let Some(key) = self.key() {
            return Ok(vec![record.partition_of(&key)]);
        }
        match self.partition {
            Some(partition) if partition >= record.partitions() => {
                let count = record.partitions();
                let told = format!("the record has {count} partitions, from 0");
                Err(UsageError(told))
            }
            Some(partition) => Ok(vec![Partition(partition)]),
            None => Ok((0..record.partitions()).map(Partition).collect()),
        }
    }

    async fn span(&self, record: &Record, partition: Partition) -> Result<Span, Unavailable> {
        let last = record.bounds_of(partition).await?.last;
        let mut span = Span {
            partition,
            after: Sequence(self.after),
            through: last,
            within: Bounds {
                after: Sequence(self.after),
                through: last,
            },
        };
        if let Some(since) = self.since {
            let first = record.first_since(partition, since).await?;
            span.after = span.after.max(before(first, last));
        }
        if let Some(until) = self.until {
            let first = record.first_since(partition, until).await?;
            span.through = before(first, last);
        }
        Ok(span)
    }
}

/// The sequence before a message; without one, the partition's last.
fn before(message: Option<StoredAt>, last: Sequence) -> Sequence {
    message.map_or(last, |message| {
        Sequence(message.sequence.0.saturating_sub(1))
    })
}
