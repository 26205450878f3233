//! The list of erasures in progress: one entry a conversation, from before its tombstone is appended until nothing but
//! the tombstone is left. Any process may finish an erasure; an entry names the one that does so now. All reads are
//! answered by the stream's leader.

use std::time::Duration;

use bytes::Bytes;
use domain::{ConversationKey, Sequence, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::{RecordError, Unavailable};
use crate::get::{NextOf, RawMessage, Which};
use crate::headers::TraceHeaders;
use crate::publish::{Ack, Publication};
use crate::record::Record;
use crate::topology::{self, erasures};

/// Most attempts to write an entry that others write too.
const WRITES_MAX: u32 = 8;

/// An erasure in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingErasure {
    /// The conversation.
    pub key: ConversationKey,
    /// The commit that the tombstone is to follow.
    pub behind: Sequence,
    /// When the erasure was first asked for, by the clock of the process that did so.
    pub begun_at: Timestamp,
    /// The process that carries it out.
    pub holder: Uuid,
    /// When the entry was written, by the server's clock; of an entry of this process, by its own.
    pub written_at: Timestamp,
    /// The sequence of the entry in the list: it changes whenever the entry is written.
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
    /// How long ago the entry was written.
    #[must_use]
    pub fn age(&self, now: Timestamp) -> Duration {
        let nanos = now.0.saturating_sub(self.written_at.0).max(0);
        Duration::from_nanos(nanos.unsigned_abs())
    }

    fn read(message: &RawMessage) -> Option<Self> {
        let payload: Payload = serde_json::from_slice(&message.payload).ok()?;
        Some(Self {
            key: erasures::key_of(&message.subject)?,
            behind: Sequence(payload.behind),
            begun_at: Timestamp(payload.begun_at),
            holder: payload.holder,
            written_at: message.stored_at,
            revision: message.sequence,
        })
    }
}

impl Record {
    /// Makes the list of erasures in progress, unless it is there. A writer makes it when it starts.
    ///
    /// # Errors
    /// [`RecordError`].
    pub async fn ensure_erasures(&self) -> Result<(), RecordError> {
        let deadline = self.deadline();
        topology::create_erasures(self.connection(), self.identity(), self.config(), deadline).await
    }

    /// Enters an erasure whose tombstone is to follow the commit at `behind`. Where there is an entry, it keeps its time of
    /// beginning and the later commit of both, and the holder changes.
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
        Err(Unavailable::new("an erasure cannot be entered"))
    }

    /// Enters an erasure in the place of an earlier entry, or of none; `None`: the list holds another one by now.
    ///
    /// # Errors
    /// As [`Record::begin_erasure`].
    pub async fn replace_erasure(
        &self,
        key: &ConversationKey,
        behind: Sequence,
        holder: Uuid,
        now: Timestamp,
        earlier: Option<&PendingErasure>,
    ) -> Result<Option<PendingErasure>, Unavailable> {
        let payload = Payload {
            behind: earlier.map_or(behind, |one| one.behind.max(behind)).0,
            begun_at: earlier.map_or(now, |one| one.begun_at).0,
            holder,
        };
        let revision = earlier.map(|one| one.revision);
        let written = self.write_erasure(key, &payload, revision).await?;
        Ok(written.map(|revision| PendingErasure {
            key: key.clone(),
            behind: Sequence(payload.behind),
            begun_at: Timestamp(payload.begun_at),
            holder,
            written_at: now,
            revision,
        }))
    }

    /// Writes an entry again, with another holder or the same: the others see that it is being carried out. `None`:
    /// somebody else has written it since, or it is removed.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn hold_erasure(
        &self,
        entry: &PendingErasure,
        holder: Uuid,
    ) -> Result<Option<PendingErasure>, Unavailable> {
        let payload = Payload {
            behind: entry.behind.0,
            begun_at: entry.begun_at.0,
            holder,
        };
        let written = self.write_erasure(&entry.key, &payload, Some(entry.revision));
        let held = |revision| PendingErasure {
            holder,
            revision,
            ..entry.clone()
        };
        Ok(written.await?.map(held))
    }

    /// Writes an entry in the place of the revision; `None`: the entry is another one by now.
    async fn write_erasure(
        &self,
        key: &ConversationKey,
        payload: &Payload,
        revision: Option<Sequence>,
    ) -> Result<Option<Sequence>, Unavailable> {
        let payload = serde_json::to_vec(payload)
            .map_err(|_| Unavailable::new("an erasure cannot be entered"))?;
        let publication = Publication {
            subject: erasures::subject(key),
            id: None,
            expected: revision,
            trace: &TraceHeaders::default(),
            payload: Bytes::from(payload),
        };
        let ack = self.connection().publish(publication, self.deadline());
        Ok(match ack.await? {
            Ack::Stored(sequence) => Some(sequence),
            Ack::Duplicate(_) | Ack::Refused { .. } => None,
        })
    }

    /// The entry of a conversation; `None`: no erasure of it is in progress.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn pending_erasure(
        &self,
        key: &ConversationKey,
    ) -> Result<Option<PendingErasure>, Unavailable> {
        let subject = erasures::subject(key);
        let last = Which::LastOf(&subject);
        let connection = self.connection();
        let last = connection.get_from_leader(erasures::STREAM, &last, self.deadline());
        last.await?.as_ref().map(entry_of).transpose()
    }

    /// Erasures in progress whose entries come after a revision, those that were written first before the others, at most
    /// so many. An entry that is written meanwhile can be missed.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn pending_erasures(
        &self,
        after: Sequence,
        entries_max: usize,
    ) -> Result<Vec<PendingErasure>, Unavailable> {
        let mut entries: Vec<PendingErasure> = Vec::new();
        let connection = self.connection();
        while entries.len() < entries_max {
            let last = entries.last().map_or(after, |entry| entry.revision);
            let next = NextOf {
                seq: last.0.saturating_add(1),
                next_by_subj: erasures::SUBJECTS,
            };
            let next = connection.get_from_leader(erasures::STREAM, &next, self.deadline());
            match next.await? {
                Some(message) => entries.push(entry_of(&message)?),
                None => break,
            }
        }
        Ok(entries)
    }

    /// How many erasures are in progress. A record without the list, which no writer of this version has opened, has none.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn count_pending_erasures(&self) -> Result<u64, Unavailable> {
        let info = topology::info(self.connection(), erasures::STREAM, self.deadline()).await?;
        Ok(info.map_or(0, |info| info.state.messages))
    }

    /// Removes an entry, unless it was written again since; then the later one stays.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn end_erasure(&self, entry: &PendingErasure) -> Result<(), Unavailable> {
        self.erase_message(erasures::STREAM, entry.revision).await?;
        Ok(())
    }
}

fn entry_of(message: &RawMessage) -> Result<PendingErasure, Unavailable> {
    PendingErasure::read(message).ok_or(Unavailable::new(
        "an entry of the list of erasures cannot be read",
    ))
}
