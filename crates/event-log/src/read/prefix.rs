//! Compares the record with prefixes of its partitions that rows contain, and guards the connection until they were compared.

use domain::{Position, Sequence};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use thiserror::Error;
use tokio::sync::watch;
use wire::prefix::{Prefix, PrefixCommit};
use wire::token::RecordId;

use crate::connection::get::{MessageQuery, RawMessage};
use crate::error::{RecordError, Unavailable};
use crate::record::Record;
use crate::topology;

/// Partitions that are compared at once.
const COMPARED_AT_ONCE: usize = 16;

/// Why a partition does not begin with a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PrefixMismatch {
    /// The prefix belongs to another record.
    #[error("it belongs to the record {}, and this is {}", hex::encode(rows.0), hex::encode(record.0))]
    OtherRecord {
        /// The record of the prefix.
        rows: RecordId,
        /// This record.
        record: RecordId,
    },
    /// The servers have no record.
    #[error("NATS has no record")]
    NoRecord,
    /// The partition ends before it.
    #[error("the record ends at sequence {last}")]
    Shorter {
        /// The partition's last sequence.
        last: Sequence,
    },
    /// The partition has another commit in its place.
    #[error("the record has another commit at sequence {}, which is not {}", commit.sequence, commit.id)]
    OtherCommit {
        /// The commit of the prefix.
        commit: PrefixCommit,
    },
}

impl Record {
    /// Compares partitions with prefixes, on the leaders of their streams. The answers are in the order of the prefixes; `None`: the
    /// partition begins with the prefix. The commit of a prefix may have been removed since, by an erasure or the archive: then only the
    /// ends are compared.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn compare(&self, prefixes: &[Prefix]) -> Result<Vec<Option<PrefixMismatch>>, Unavailable> {
        if prefixes.iter().all(|prefix| prefix.end == Sequence(0)) {
            return Ok(vec![None; prefixes.len()]);
        }
        let record = self.read_id().await?;
        let compared: Vec<_> = prefixes.iter().map(|prefix| self.compare_one(record, prefix)).collect();
        stream::iter(compared).buffered(COMPARED_AT_ONCE).try_collect().await
    }

    async fn compare_one(
        &self,
        record: Option<RecordId>,
        prefix: &Prefix,
    ) -> Result<Option<PrefixMismatch>, Unavailable> {
        if prefix.end == Sequence(0) {
            return Ok(None);
        }
        let Some(record) = record else {
            return Ok(Some(PrefixMismatch::NoRecord));
        };
        if let Some(rows) = prefix.record.filter(|rows| *rows != record) {
            return Ok(Some(PrefixMismatch::OtherRecord { rows, record }));
        }
        if let Some(commit) = prefix.last_commit {
            let query = MessageQuery::Sequence(commit.sequence.0);
            let stream = topology::stream_name(prefix.partition);
            let found = self.unguarded().get_from_leader(&stream, &query, self.deadline()).await?;
            match found {
                Some(found) if !is_commit(&found, commit) => {
                    return Ok(Some(PrefixMismatch::OtherCommit { commit }));
                }
                Some(_) if commit.sequence == prefix.end => return Ok(None),
                Some(_) | None => {}
            }
        }
        self.compare_end(Position { partition: prefix.partition, sequence: prefix.end }).await
    }

    /// Compares the record with the sequences that it has acknowledged to this process, beyond prefixes that were compared; `None`: it
    /// has reached them.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn compare_known_ends(
        &self,
        compared: &[Prefix],
    ) -> Result<Option<(Position, PrefixMismatch)>, Unavailable> {
        let is_compared = |end: &Position| {
            compared.iter().any(|prefix| prefix.partition == end.partition && prefix.end >= end.sequence)
        };
        for end in self.known_ends().all().into_iter().filter(|end| !is_compared(end)) {
            if let Some(mismatch) = self.compare_end(end).await? {
                return Ok(Some((end, mismatch)));
            }
        }
        Ok(None)
    }

    async fn compare_end(&self, end: Position) -> Result<Option<PrefixMismatch>, Unavailable> {
        let stream = topology::stream_name(end.partition);
        let last = topology::last_sequence(self.unguarded(), &stream, self.deadline()).await?;
        Ok((last < end.sequence).then_some(PrefixMismatch::Shorter { last }))
    }

    /// The id of the record that the servers have now, which may have been replaced since it was opened; `None`: they have none.
    async fn read_id(&self) -> Result<Option<RecordId>, Unavailable> {
        match topology::identity(self.unguarded(), self.deadline()).await {
            Ok(identity) => Ok(Some(identity.id)),
            Err(RecordError::Missing { .. }) => Ok(None),
            Err(RecordError::Unavailable(unavailable)) => Err(unavailable),
            Err(_) => Err(Unavailable::new("the first stream of the record has another configuration")),
        }
    }

    /// Guards the connection of this record and its clones: after each connect nothing is sent until [`Record::admit`], but what
    /// [`Record::compare`] sends.
    pub fn guard(&self) {
        self.connection().admission().guard();
    }

    /// How often the connection was made. A change means that other servers may answer.
    #[must_use]
    pub fn connects(&self) -> watch::Receiver<u64> {
        self.connection().reconnects()
    }

    /// The number of the current connect.
    #[must_use]
    pub fn connect(&self) -> u64 {
        self.connection().connects()
    }

    /// Lets requests pass: the record was compared on this connect. `ends`: what the rows contain.
    pub fn admit(&self, connect: u64, ends: impl IntoIterator<Item = Position>) {
        ends.into_iter().for_each(|end| self.known_ends().advance(end));
        self.connection().admission().admit(connect);
    }

    /// Refuses requests, until [`Record::admit`]: the record is not the one that the rows were computed from.
    pub fn refuse(&self) {
        self.connection().admission().refuse();
    }
}

/// Whether a message is a commit of a prefix. Its conversation's hash chain proves all that came before it in the conversation.
fn is_commit(found: &RawMessage, commit: PrefixCommit) -> bool {
    let head = wire::commit::open_head(found.payload.clone());
    head.is_ok_and(|head| head.chain == commit.chain && head.recent.last().map(|last| last.id) == Some(commit.id))
}
