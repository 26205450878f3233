//! The list of erasures in progress. A conversation has an entry from before its tombstone is appended until only the
//! tombstone is left. Any process may finish an erasure; the entry names the current one. All reads go to the stream's
//! leader.

use std::time::Duration;

use bytes::Bytes;
use domain::{ConversationKey, Sequence, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::connection::get::{MessageQuery, NextOfSubject, RawMessage};
use crate::connection::publish::{Ack, Publication};
use crate::error::{RecordError, Unavailable};
use crate::record::Record;
use crate::topology::{self, erasures, stream_config};

/// Maximum attempts to write an entry that other processes write too.
const WRITES_MAX: u32 = 8;

/// An erasure in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingErasure {
    /// The conversation.
    pub key: ConversationKey,
    /// The commit before the tombstone.
    pub behind: Sequence,
    /// When the erasure was first requested, by the clock of the requesting process.
    pub begun_at: Timestamp,
    /// The process that executes it.
    pub holder: Uuid,
    /// When the entry was written, by the server's clock; for an entry of this process, by its own clock.
    pub written_at: Timestamp,
    /// The sequence of the entry in the list; each write changes it.
    pub revision: Sequence,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Payload {
    behind: u64,
    begun_at: i64,
    holder: Uuid,
}

impl PendingErasure {
    /// The time since the entry was written.
    #[must_use]
    pub fn age(&self, now: Timestamp) -> Duration {
        let nanos = now.0.saturating_sub(self.written_at.0).max(0);
        Duration::from_nanos(nanos.unsigned_abs())
    }

    fn read(message: &RawMessage) -> Result<Self, Unavailable> {
        let unreadable = Unavailable::new("an entry of the list of erasures cannot be decoded");
        let payload: Payload = serde_json::from_slice(&message.payload).map_err(|_| unreadable)?;
        Ok(Self {
            key: erasures::key_of(&message.subject).ok_or(unreadable)?,
            behind: Sequence(payload.behind),
            begun_at: Timestamp(payload.begun_at),
            holder: payload.holder,
            written_at: message.stored_at,
            revision: message.sequence,
        })
    }
}

impl Record {
    /// Creates the list of erasures in progress unless it exists, with the replicas and the placement of partition 0. Every
    /// writer does so when it starts.
    ///
    /// # Errors
    /// [`RecordError`].
    pub async fn ensure_erasures(&self) -> Result<(), RecordError> {
        let config = self.config_of_streams().await?;
        let (identity, deadline) = (self.identity(), self.deadline());
        let stream = stream_config::erasures(identity, &config);
        topology::ensure_of_record(self.connection(), stream, identity, deadline).await
    }

    /// Adds an erasure whose tombstone follows the commit at `behind`. An existing entry keeps its start time and the later
    /// commit of both, and gets the new holder.
    ///
    /// # Errors
    /// [`Unavailable`]: append no tombstone.
    pub async fn begin_erasure(
        &self,
        key: &ConversationKey,
        behind: Sequence,
        holder: Uuid,
        now: Timestamp,
    ) -> Result<(), Unavailable> {
        for _ in 0..WRITES_MAX {
            let earlier = self.pending_erasure(key).await?;
            let entered = self.replace_erasure(key, behind, holder, now, earlier.as_ref());
            if entered.await?.is_some() {
                return Ok(());
            }
        }
        Err(Unavailable::new("the entry of an erasure keeps changing"))
    }

    /// Adds an erasure or replaces an earlier entry; `None`: the list has another entry by now.
    ///
    /// # Errors
    /// Same as [`Record::begin_erasure`].
    pub async fn replace_erasure(
        &self,
        key: &ConversationKey,
        behind: Sequence,
        holder: Uuid,
        now: Timestamp,
        earlier: Option<&PendingErasure>,
    ) -> Result<Option<PendingErasure>, Unavailable> {
        let begun = Payload {
            behind: earlier.map_or(behind, |one| one.behind.max(behind)).0,
            begun_at: earlier.map_or(now, |one| one.begun_at).0,
            holder,
        };
        let payload =
            serde_json::to_vec(&begun).map_err(|_| Unavailable::new("the entry of an erasure cannot be encoded"))?;
        let publication = Publication {
            subject: erasures::subject(key),
            expected: earlier.map(|one| one.revision),
            payload: Bytes::from(payload),
            ..Publication::default()
        };
        let ack = self.connection().publish(publication, self.deadline());
        Ok(match ack.await? {
            Ack::Stored(revision) => Some(PendingErasure {
                key: key.clone(),
                behind: Sequence(begun.behind),
                begun_at: Timestamp(begun.begun_at),
                holder,
                written_at: now,
                revision,
            }),
            Ack::Duplicate(_) | Ack::Refused { .. } => None,
        })
    }

    /// Writes an entry again, with another holder or the same, so that other processes see progress. `None`: another process
    /// wrote it since, or it was removed.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn renew_erasure(
        &self,
        entry: &PendingErasure,
        holder: Uuid,
    ) -> Result<Option<PendingErasure>, Unavailable> {
        let (key, written_at) = (&entry.key, entry.written_at);
        self.replace_erasure(key, entry.behind, holder, written_at, Some(entry)).await
    }

    /// The entry of a conversation; `None`: no erasure is in progress.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn pending_erasure(&self, key: &ConversationKey) -> Result<Option<PendingErasure>, Unavailable> {
        let subject = erasures::subject(key);
        let last = self.get_from_leader(erasures::STREAM, &MessageQuery::LastOfSubject(&subject)).await?;
        last.as_ref().map(PendingErasure::read).transpose()
    }

    /// At most `entries_max` erasures in progress after a revision, in the order of their writes. An entry that is written during
    /// the read can be missing.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn pending_erasures(
        &self,
        after: Sequence,
        entries_max: usize,
    ) -> Result<Vec<PendingErasure>, Unavailable> {
        let mut entries: Vec<PendingErasure> = Vec::new();
        while entries.len() < entries_max {
            let last = entries.last().map_or(after, |entry| entry.revision);
            let next = NextOfSubject::after(erasures::SUBJECTS, last);
            match self.get_from_leader(erasures::STREAM, &next).await? {
                Some(message) => entries.push(PendingErasure::read(&message)?),
                None => break,
            }
        }
        Ok(entries)
    }

    /// The number of erasures in progress; 0 for a record without the list.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn count_pending_erasures(&self) -> Result<u64, Unavailable> {
        let info = topology::info(self.connection(), erasures::STREAM, self.deadline()).await?;
        Ok(info.map_or(0, |info| info.state.messages))
    }

    /// Removes an entry, unless it was written again since.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn end_erasure(&self, entry: &PendingErasure) -> Result<(), Unavailable> {
        self.erase_message(erasures::STREAM, entry.revision).await?;
        Ok(())
    }
}
