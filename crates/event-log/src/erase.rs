//! Erasing what a conversation was, message by message.
//!
//! A purge by subject takes messages out of the stream's index and leaves their bytes in its block files for as long as
//! a block lives. Deleting one message overwrites its bytes in place, which is what an erasure promises; a test looks
//! for them in every file of the store.

use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde::{Deserialize, Serialize};

use domain::{ConversationKey, OwnerDigest, Sequence, TenantId};

use crate::batch::{BATCH_MESSAGES_MAX, BatchRequest, From};
use crate::error::Unavailable;
use crate::get::Which;
use crate::record::Record;
use crate::resolve::wait;
use crate::topology;

/// Deletions that are under way at a time. The server overwrites one at a time for each stream, so that more are no faster, and
/// an append to the same stream waits behind all of them.
const DELETES_IN_FLIGHT: usize = 4;
/// Most bytes of messages that are read at a time, to learn their sequences.
const BYTES_MAX: usize = 4 * 1024 * 1024;
/// Most times that a subject is looked through: a replica that answers may be behind the leader, who says what is left.
const PASSES_MAX: u32 = 32;
/// "no message found" and "sequence not found": somebody else has deleted it.
const GONE: [u64; 2] = [10_037, 10_043];

#[derive(Serialize)]
struct Delete {
    seq: u64,
    /// Whether the bytes may stay.
    no_erase: bool,
}

#[derive(Deserialize)]
struct Deleted {
    #[serde(default)]
    success: bool,
    error: Option<Failure>,
}

#[derive(Deserialize)]
struct Failure {
    #[serde(default)]
    err_code: u64,
}

/// What of a stream is to go.
struct Doomed<'a> {
    stream: &'a str,
    /// May end in a wildcard.
    subject: &'a str,
    /// The first sequence that stays.
    before: Sequence,
}

/// What was overwritten of a conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Overwritten {
    /// Commits.
    pub commits: u64,
    /// Batches of parts of runs.
    pub parts: u64,
}

impl Record {
    /// Overwrites and removes all that is kept of a conversation behind its last commit, its tombstone: commits, parts of
    /// runs, logged calls. Done twice, it is done.
    ///
    /// # Errors
    /// [`Unavailable`]: call again until it succeeds; what is gone stays gone.
    pub async fn erase_behind_tombstone(
        &self,
        key: &ConversationKey,
    ) -> Result<Overwritten, Unavailable> {
        let commits = self.erase_before_last(key).await?;
        self.erase_beside(key, commits).await
    }

    /// As [`Record::erase_behind_tombstone`], of a conversation whose tombstone is known: what is before it goes, whatever
    /// is last.
    ///
    /// # Errors
    /// [`Unavailable`]: call again until it succeeds; what is gone stays gone.
    pub async fn erase_before_tombstone(
        &self,
        key: &ConversationKey,
        tombstone: Sequence,
    ) -> Result<Overwritten, Unavailable> {
        let commits = self.erase_before(key, tombstone).await?;
        self.erase_beside(key, commits).await
    }

    /// Overwrites and removes what is kept of a conversation beside its commits.
    async fn erase_beside(
        &self,
        key: &ConversationKey,
        commits: u64,
    ) -> Result<Overwritten, Unavailable> {
        let parts = self.erase_parts(key).await?;
        self.erase_logs(key).await?;
        Ok(Overwritten { commits, parts })
    }

    /// Overwrites and removes all commits of a conversation but its last one, for good; how many there were. Done
    /// twice, it is done.
    ///
    /// # Errors
    /// [`Unavailable`]: call again until it succeeds; what is gone stays gone.
    pub async fn erase_before_last(&self, key: &ConversationKey) -> Result<u64, Unavailable> {
        let place = self.place(key);
        let last = Which::LastOf(&place.subject);
        let connection = self.connection();
        let last = connection.get_from_leader(&place.stream, &last, self.deadline());
        let Some(last) = last.await? else {
            return Ok(0);
        };
        self.erase_before(key, last.sequence).await
    }

    /// Overwrites and removes the commits of a conversation before a sequence, which is the first that stays.
    pub(crate) async fn erase_before(
        &self,
        key: &ConversationKey,
        before: Sequence,
    ) -> Result<u64, Unavailable> {
        let place = self.place(key);
        let doomed = Doomed {
            stream: &place.stream,
            subject: &place.subject,
            before,
        };
        self.erase_all(&doomed).await
    }

    /// Overwrites and removes the parts of all runs of a conversation, for good; how many batches there were. Done
    /// twice, it is done.
    ///
    /// # Errors
    /// [`Unavailable`]: call again until it succeeds; what is gone stays gone.
    pub async fn erase_parts(&self, key: &ConversationKey) -> Result<u64, Unavailable> {
        let partition = self.partition_of(key);
        let doomed = Doomed {
            stream: &topology::parts_stream_name(partition),
            subject: &topology::all_parts_subjects(partition, key),
            before: Sequence(u64::MAX),
        };
        self.erase_all(&doomed).await
    }

    /// Overwrites and removes the logged calls of a conversation, for good; how many there were. Done twice, it is done.
    ///
    /// # Errors
    /// [`Unavailable`]: call again until it succeeds; what is gone stays gone.
    pub async fn erase_logs(&self, key: &ConversationKey) -> Result<u64, Unavailable> {
        if self.logs_bounds().await?.is_none() {
            return Ok(0);
        }
        let doomed = Doomed {
            stream: topology::logs::STREAM,
            subject: &topology::logs::subject(key),
            before: Sequence(u64::MAX),
        };
        self.erase_all(&doomed).await
    }

    /// Overwrites and removes the metered calls of a tenant, or of one of its owners, for good; how many there were. Done
    /// twice, it is done.
    ///
    /// # Errors
    /// [`Unavailable`]: call again until it succeeds; what is gone stays gone.
    pub async fn erase_usage(
        &self,
        tenant: &TenantId,
        owner: Option<&OwnerDigest>,
    ) -> Result<u64, Unavailable> {
        if self.logs_bounds().await?.is_none() {
            return Ok(0);
        }
        let doomed = Doomed {
            stream: topology::logs::STREAM,
            subject: &topology::logs::usage_subjects(tenant, owner),
            before: Sequence(u64::MAX),
        };
        self.erase_all(&doomed).await
    }

    /// Passes over what is to go until the leader knows of none of it.
    async fn erase_all(&self, doomed: &Doomed<'_>) -> Result<u64, Unavailable> {
        let mut erased = 0_u64;
        for pass in 0..PASSES_MAX {
            let first = crate::get::NextOf {
                seq: 1,
                next_by_subj: doomed.subject,
            };
            let connection = self.connection();
            let first = connection.get_from_leader(doomed.stream, &first, self.deadline());
            let Some(first) = first.await?.filter(|first| first.sequence < doomed.before) else {
                return Ok(erased);
            };
            let gone = self.erase_from(doomed, first.sequence).await?;
            if gone == 0 {
                wait(pass, self.deadline()).await?;
            }
            erased = erased.saturating_add(gone);
        }
        Err(Unavailable::new("messages that are to go keep standing"))
    }

    async fn erase_from(&self, doomed: &Doomed<'_>, from: Sequence) -> Result<u64, Unavailable> {
        let (mut erased, mut next) = (0_u64, Some(from));
        while let Some(from) = next {
            let request = BatchRequest {
                from: From::Sequence(from.0),
                subject: doomed.subject,
                messages_max: BATCH_MESSAGES_MAX,
                bytes_max: BYTES_MAX,
            };
            let connection = self.connection();
            let batch = connection.batch(
                doomed.stream,
                &request,
                request.messages_max,
                self.deadline(),
            );
            let batch = batch.await?;
            let last = batch.last_sequence().filter(|last| *last < doomed.before);
            next = last
                .filter(|_| batch.pending > 0)
                .map(|last| Sequence(last.0.saturating_add(1)));
            let sequences = batch.messages.into_iter().map(|message| message.sequence);
            let sequences = sequences.filter(|sequence| *sequence < doomed.before);
            let deletes = stream::iter(sequences)
                .map(|sequence| self.erase_message(doomed.stream, sequence))
                .buffer_unordered(DELETES_IN_FLIGHT);
            let gone: Vec<bool> = deletes.try_collect().await?;
            erased = erased.saturating_add(u64::try_from(gone.len()).unwrap_or(u64::MAX));
        }
        Ok(erased)
    }

    /// Overwrites and removes commits of a conversation, those at these sequences and no others; how many the record still
    /// held. Done twice, it is done.
    ///
    /// # Errors
    /// [`Unavailable`]: call again until it succeeds; what is gone stays gone.
    pub(crate) async fn erase_exactly(
        &self,
        key: &ConversationKey,
        sequences: &[Sequence],
    ) -> Result<u64, Unavailable> {
        let stream = self.place(key).stream;
        let deletes = stream::iter(sequences)
            .map(|sequence| self.erase_message(&stream, *sequence))
            .buffer_unordered(DELETES_IN_FLIGHT);
        let erased: Vec<bool> = deletes.try_collect().await?;
        let held = erased.into_iter().filter(|was_held| *was_held).count();
        Ok(u64::try_from(held).unwrap_or(u64::MAX))
    }

    /// Overwrites and removes one message of any stream; whether this call did so. One that is gone already is gone.
    pub(crate) async fn erase_message(
        &self,
        stream: &str,
        sequence: Sequence,
    ) -> Result<bool, Unavailable> {
        let connection = self.connection();
        let subject = connection.api_subject(&format!("STREAM.MSG.DELETE.{stream}"));
        let delete = Delete {
            seq: sequence.0,
            no_erase: false,
        };
        let deleted: Deleted = connection.api(subject, &delete, self.deadline()).await?;
        let is_gone = |failure: Failure| GONE.contains(&failure.err_code);
        if deleted.success {
            return Ok(true);
        }
        if deleted.error.is_some_and(is_gone) {
            return Ok(false);
        }
        // Of two who delete it at once the server refuses one with another code, and so whoever deletes what is before the
        // stream's first message.
        let at = Which::At(sequence.0);
        let left = connection.get_from_leader(stream, &at, self.deadline());
        match left.await? {
            None => Ok(false),
            Some(_) => Err(Unavailable::new("the stream refused to delete a message")),
        }
    }
}
