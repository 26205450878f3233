//! Erases the content of a conversation, message by message.
//!
//! A purge by subject removes messages from the stream's index only; their bytes stay in the block files. Deleting a single
//! message overwrites its bytes in place, as an erasure requires. A test searches every file of the store for them.

pub(crate) mod again;
pub(crate) mod pending;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde::{Deserialize, Serialize};

use domain::{ConversationKey, OwnerDigest, Sequence, TenantId};

use crate::append::resolve::wait;
use crate::connection::ApiFailure;
use crate::connection::get::{MessageQuery, NextOfSubject};
use crate::connection::read_limit::Source;
use crate::error::Unavailable;
use crate::group_commit::batch::{BATCH_MESSAGES_MAX, BatchRequest, From};
use crate::record::Record;
use crate::topology;

/// Concurrent deletions that overwrite. The server performs one at a time for each stream: more are no faster, and an append
/// to the same stream waits for all of them.
const OVERWRITES_IN_FLIGHT: usize = 4;
/// Concurrent deletions that do not overwrite.
const DELETES_IN_FLIGHT: usize = 32;
/// Maximum bytes of one batch that is read for its sequences.
const BYTES_MAX: usize = 4 * 1024 * 1024;
/// Maximum passes over a subject: the replica that answers may lag, and only the leader knows what is left.
const PASSES_MAX: u32 = 32;
/// "no message found" and "sequence not found": already deleted.
const GONE: [u64; 2] = [10_037, 10_043];

#[derive(Serialize)]
struct Delete {
    seq: u64,
    /// `true` would keep the bytes on disk.
    no_erase: bool,
}

#[derive(Deserialize)]
struct Deleted {
    #[serde(default)]
    success: bool,
    error: Option<ApiFailure>,
}

/// What happens to the bytes of a message that is removed from its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// They are overwritten before the answer. The server writes the message's block again, up to 8 MiB.
    Overwrite,
    /// They stay in the block until the server compacts it, which it does when more than half of it is removed.
    Delete,
}

impl Removal {
    fn in_flight(self) -> usize {
        match self {
            Self::Overwrite => OVERWRITES_IN_FLIGHT,
            Self::Delete => DELETES_IN_FLIGHT,
        }
    }
}

/// The messages to erase.
struct EraseTarget<'a> {
    stream: &'a str,
    /// May end in a wildcard.
    subject: &'a str,
    /// The first sequence to keep.
    before: Sequence,
}

/// How much of a conversation was erased.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ErasedCounts {
    /// Erased commits.
    pub commits: u64,
    /// Erased batches of run parts.
    pub parts: u64,
}

impl Record {
    /// Overwrites and removes everything of a conversation except its last commit, the tombstone: commits, run parts and logged
    /// calls. Idempotent.
    ///
    /// # Errors
    /// [`Unavailable`]: call again until it succeeds; erased messages stay erased.
    pub async fn erase_conversation(&self, key: &ConversationKey) -> Result<ErasedCounts, Unavailable> {
        let commits = self.erase_before_last(key).await?;
        self.erase_beside(key, commits).await
    }

    /// Same as [`Record::erase_conversation`] for a known tombstone: everything before it is erased, even if later commits
    /// exist.
    ///
    /// # Errors
    /// [`Unavailable`]: call again until it succeeds; erased messages stay erased.
    pub async fn erase_before_tombstone(
        &self,
        key: &ConversationKey,
        tombstone: Sequence,
    ) -> Result<ErasedCounts, Unavailable> {
        let commits = self.erase_before(key, tombstone).await?;
        self.erase_beside(key, commits).await
    }

    /// Overwrites and removes run parts and logged calls of a conversation.
    async fn erase_beside(&self, key: &ConversationKey, commits: u64) -> Result<ErasedCounts, Unavailable> {
        let parts = self.erase_parts(key).await?;
        self.erase_logs(key).await?;
        Ok(ErasedCounts { commits, parts })
    }

    /// Overwrites and removes all commits of a conversation except the last one; returns how many. Idempotent.
    ///
    /// # Errors
    /// [`Unavailable`]: call again until it succeeds; erased messages stay erased.
    pub async fn erase_before_last(&self, key: &ConversationKey) -> Result<u64, Unavailable> {
        let route = self.route(key).await?;
        let last = MessageQuery::LastOfSubject(&route.subject);
        match self.get_from_leader(&route.stream, &last).await? {
            Some(last) => self.erase_before(key, last.sequence).await,
            None => Ok(0),
        }
    }

    /// Overwrites and removes the commits of a conversation before a sequence.
    pub(crate) async fn erase_before(&self, key: &ConversationKey, before: Sequence) -> Result<u64, Unavailable> {
        let route = self.route(key).await?;
        let target = EraseTarget { stream: &route.stream, subject: &route.subject, before };
        self.erase_all(&target).await
    }

    /// Overwrites and removes the parts of all runs of a conversation; returns how many batches. Idempotent.
    ///
    /// # Errors
    /// [`Unavailable`]: call again until it succeeds; erased messages stay erased.
    pub async fn erase_parts(&self, key: &ConversationKey) -> Result<u64, Unavailable> {
        let partition = self.partition_of(key).await?;
        let target = EraseTarget {
            stream: &topology::parts_stream_name(partition),
            subject: &topology::all_parts_subjects(partition, key),
            before: Sequence(u64::MAX),
        };
        self.erase_all(&target).await
    }

    /// Overwrites and removes the logged calls of a conversation; returns how many. Idempotent.
    ///
    /// # Errors
    /// [`Unavailable`]: call again until it succeeds; erased messages stay erased.
    pub async fn erase_logs(&self, key: &ConversationKey) -> Result<u64, Unavailable> {
        self.erase_logged(&topology::logs::subject(key)).await
    }

    /// Overwrites and removes the metered calls and corrections of a tenant, or of one of its owners; returns how many. Idempotent.
    ///
    /// # Errors
    /// [`Unavailable`]: call again until it succeeds; erased messages stay erased.
    pub async fn erase_usage(&self, tenant: &TenantId, owner: Option<&OwnerDigest>) -> Result<u64, Unavailable> {
        let mut erased = 0_u64;
        for subject in topology::logs::usage_subjects(tenant, owner) {
            erased = erased.saturating_add(self.erase_logged(&subject).await?);
        }
        Ok(erased)
    }

    /// Erases a subject of the stream of calls, which may not exist.
    async fn erase_logged(&self, subject: &str) -> Result<u64, Unavailable> {
        if self.logs_bounds().await?.is_none() {
            return Ok(0);
        }
        let target = EraseTarget { stream: topology::logs::STREAM, subject, before: Sequence(u64::MAX) };
        self.erase_all(&target).await
    }

    /// Erases until the leader has none of the messages.
    async fn erase_all(&self, target: &EraseTarget<'_>) -> Result<u64, Unavailable> {
        let mut erased = 0_u64;
        for pass in 0..PASSES_MAX {
            let query = NextOfSubject::after(target.subject, Sequence(0));
            let first = self.get_from_leader(target.stream, &query).await?;
            let Some(first) = first.filter(|first| first.sequence < target.before) else {
                return Ok(erased);
            };
            let gone = self.erase_from(target, first.sequence).await?;
            if gone == 0 {
                wait(pass, self.deadline()).await?;
            }
            erased = erased.saturating_add(gone);
        }
        Err(Unavailable::new("messages remain after every erasure pass"))
    }

    async fn erase_from(&self, target: &EraseTarget<'_>, from: Sequence) -> Result<u64, Unavailable> {
        let (mut erased, mut next) = (0_u64, Some(from));
        while let Some(from) = next {
            let request = BatchRequest {
                from: From::Sequence(from.0),
                subject: target.subject,
                messages_max: BATCH_MESSAGES_MAX,
                bytes_max: BYTES_MAX,
            };
            let (connection, deadline) = (self.connection(), self.deadline());
            let batch = connection.batch(target.stream, &request, BATCH_MESSAGES_MAX, deadline).await?;
            let last = batch.last_sequence().filter(|last| *last < target.before);
            next = last.filter(|_| batch.pending > 0).map(|last| Sequence(last.0.saturating_add(1)));
            let sequences =
                batch.messages.into_iter().map(|message| message.sequence).filter(|sequence| *sequence < target.before);
            let gone = self.erase_messages(target.stream, sequences).await?;
            erased = erased.saturating_add(u64::try_from(gone.len()).unwrap_or(u64::MAX));
        }
        Ok(erased)
    }

    /// Overwrites and removes messages of any stream; returns for each whether the stream still had it.
    pub(crate) async fn erase_messages(
        &self,
        stream: &str,
        sequences: impl Iterator<Item = Sequence>,
    ) -> Result<Vec<bool>, Unavailable> {
        let removal = Removal::Overwrite;
        self.remove_messages(stream, sequences, removal).await
    }

    /// Removes messages of any stream; returns for each whether the stream still had it.
    pub(crate) async fn remove_messages(
        &self,
        stream: &str,
        sequences: impl Iterator<Item = Sequence>,
        removal: Removal,
    ) -> Result<Vec<bool>, Unavailable> {
        let deletes = stream::iter(sequences)
            .map(|sequence| self.remove_message(stream, sequence, removal))
            .buffer_unordered(removal.in_flight());
        deletes.try_collect().await
    }

    /// Overwrites and removes one message of any stream; returns `false` if it was already removed.
    pub(crate) async fn erase_message(&self, stream: &str, sequence: Sequence) -> Result<bool, Unavailable> {
        let removal = Removal::Overwrite;
        self.remove_message(stream, sequence, removal).await
    }

    async fn remove_message(&self, stream: &str, sequence: Sequence, removal: Removal) -> Result<bool, Unavailable> {
        let request = format!("STREAM.MSG.DELETE.{stream}");
        let delete = Delete { seq: sequence.0, no_erase: removal == Removal::Delete };
        let (connection, deadline) = (self.connection(), self.deadline());
        // A deletion that is sent again after a loss of the connection changes nothing.
        let send = || connection.api::<Deleted>(&request, &delete, deadline);
        let deleted = connection.read(Source::Leader, deadline, send).await?;
        let is_removed = |failure: ApiFailure| GONE.contains(&failure.err_code);
        if deleted.success {
            return Ok(true);
        }
        if deleted.error.is_some_and(is_removed) {
            return Ok(false);
        }
        // The server answers with other codes when two clients delete the message at once, and for sequences before the
        // stream's first message.
        let at = MessageQuery::Sequence(sequence.0);
        match self.get_from_leader(stream, &at).await? {
            None => Ok(false),
            Some(_) => Err(Unavailable::new("the stream rejected a deletion")),
        }
    }
}
