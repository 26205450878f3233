//! Appending a commit.

use bytes::Bytes;
use domain::{CommitId, ConversationKey, Partition, Sequence};

use crate::error::Unavailable;
use crate::headers::TraceHeaders;
use crate::message::StoredMessage;
use crate::publish::{Ack, Publication};
use crate::record::Record;
use crate::topology;

/// A commit to append.
#[derive(Debug, Clone)]
pub struct Append {
    /// Its id, the same at every retry.
    pub commit: CommitId,
    /// The sealed commit; at most [`Record::payload_bytes_max`] bytes.
    pub message: Bytes,
    /// Where the conversation's last commit stands; `None`: it has none.
    pub expected: Option<Sequence>,
    /// The trace that it belongs to; a header of more than 512 bytes is left out.
    pub trace: TraceHeaders,
}

/// What became of an append. Each is final.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppendOutcome {
    /// It is in the record, once, byte for byte.
    Committed {
        /// Where.
        sequence: Sequence,
    },
    /// A commit with its id was in the conversation already: an earlier try, or another request under the same id. Read
    /// what stands there; it may have been erased since.
    Duplicate {
        /// Where.
        sequence: Sequence,
    },
    /// It is not in the record and never will be: another commit follows the expected one. Rebase, or report a conflict.
    Superseded {
        /// The conversation's last commit; `None` when it has none, though one was expected.
        last: Option<StoredMessage>,
    },
}

/// Where a conversation's commits lie.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) partition: Partition,
    pub(crate) stream: String,
    pub(crate) subject: String,
}

impl Record {
    /// Appends a commit to a conversation, after the commit that is expected to be its last.
    ///
    /// An outcome is resolved, never guessed: after a refusal, a timeout or a lost connection the stream's leader is
    /// asked what became of the commit.
    ///
    /// # Errors
    /// [`Unavailable`] when the outcome cannot be known within the request timeout: the commit may be in the record, or
    /// may still come. The same append, with the same id, may be made again.
    #[tracing::instrument(
        name = "log.commit.append",
        level = "debug",
        skip_all,
        fields(tenant.id = %key.tenant, conversation.id = %key.conversation)
    )]
    pub async fn append(
        &self,
        key: &ConversationKey,
        append: Append,
    ) -> Result<AppendOutcome, Unavailable> {
        let deadline = self.deadline();
        let place = self.place(key);
        let id = append.commit.to_string();
        let publication = publication(&place, &append, &id);
        let ack_deadline = Self::ack_deadline(deadline);
        match self.connection().publish(publication, ack_deadline).await {
            Ok(Ack::Stored(sequence)) => Ok(AppendOutcome::Committed { sequence }),
            unsettled => self.resolve(&place, &append, unsettled, deadline).await,
        }
    }

    pub(crate) fn place(&self, key: &ConversationKey) -> Place {
        let partition = self.partition_of(key);
        Place {
            partition,
            stream: topology::stream_name(partition),
            subject: topology::subject(partition, key),
        }
    }
}

pub(crate) fn publication<'a>(place: &Place, append: &'a Append, id: &'a str) -> Publication<'a> {
    Publication {
        subject: place.subject.clone(),
        id: Some(id),
        expected: append.expected,
        trace: &append.trace,
        payload: append.message.clone(),
    }
}
