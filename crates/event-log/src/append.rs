//! Appending a commit.

pub(crate) mod first_append;
pub(crate) mod resolve;

use bytes::Bytes;
use domain::{CommitId, ConversationKey, Partition, Position, Sequence};
use tokio::time::Instant;

use crate::connection::publish::Ack;
use crate::error::Unavailable;
use crate::group_commit::Commit;
use crate::headers::TraceHeaders;
use crate::message::StoredMessage;
use crate::record::Record;
use crate::topology;

/// A commit to append.
#[derive(Debug, Clone)]
pub struct Append {
    /// The commit id; equal for every retry.
    pub commit: CommitId,
    /// The sealed commit; at most [`Record::payload_bytes_max`] bytes.
    pub message: Bytes,
    /// The sequence of the conversation's last commit in the record; `None`: the record has none.
    pub expected: Option<Sequence>,
    /// The partition of a hibernated conversation, whose commits are all in the archive; `None`: it is not hibernated.
    pub hibernated_in: Option<Partition>,
    /// The trace of the request; headers over 512 bytes are omitted.
    pub trace: TraceHeaders,
}

/// The outcome of an append. Each is final.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppendOutcome {
    /// The commit is in the record, once, byte for byte.
    Committed {
        /// Its sequence.
        sequence: Sequence,
    },
    /// The conversation already had a commit with this id: an earlier attempt, or another request with the same id. Read the
    /// commit at the sequence; it may have been erased since.
    Duplicate {
        /// Its sequence.
        sequence: Sequence,
    },
    /// The commit is not in the record and never will be: another commit follows the expected one. Rebase, or report a conflict.
    Superseded {
        /// The conversation's last commit; `None`: it has none, although one was expected.
        last: Option<StoredMessage>,
    },
}

/// The partition, stream and subject of a conversation's commits, or of a run's parts.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) partition: Partition,
    pub(crate) stream: String,
    pub(crate) subject: String,
}

impl Record {
    /// Appends a commit to a conversation, after its expected last commit.
    ///
    /// The outcome is always known: after a rejection, a timeout or a lost connection it is read from the stream's leader.
    ///
    /// # Errors
    /// [`Unavailable`] when the outcome is not known within the request timeout: the commit may be in the record now or
    /// later. Retry the append with the same id.
    #[tracing::instrument(
        name = "log.commit.append",
        level = "debug",
        skip_all,
        fields(tenant.id = %key.tenant, conversation.id = %key.conversation)
    )]
    pub async fn append(&self, key: &ConversationKey, append: Append) -> Result<AppendOutcome, Unavailable> {
        let deadline = self.deadline();
        if let Some(partition) = append.hibernated_in {
            let route = Route::new(partition, key);
            return self.append_at(&route, &append, deadline).await;
        }
        if append.expected.is_none() {
            self.known_layout().recent().await?;
            if self.known_partition(key).is_none() {
                return Box::pin(self.append_first(key, &append, deadline)).await;
            }
        }
        let route = self.route(key).await?;
        self.append_at(&route, &append, deadline).await
    }

    /// Appends a commit to a conversation of this partition.
    pub(crate) async fn append_at(
        &self,
        route: &Route,
        append: &Append,
        deadline: Instant,
    ) -> Result<AppendOutcome, Unavailable> {
        let ack_deadline = Self::ack_deadline(deadline);
        let known_end = self.known_ends().of(route.partition);
        match self.publish_commit(route, append, ack_deadline).await {
            // The stream was replaced since, or restored from an older copy.
            Ok(Ack::Stored(sequence)) if sequence <= known_end => {
                self.refuse();
                Err(Unavailable::DIVERGED)
            }
            Ok(Ack::Stored(sequence)) => {
                self.known_ends().advance(Position { partition: route.partition, sequence });
                Ok(AppendOutcome::Committed { sequence })
            }
            unresolved => self.resolve(route, append, unresolved, deadline).await,
        }
    }

    /// Publishes a commit for the first time, alone or in a batch.
    async fn publish_commit(&self, route: &Route, append: &Append, deadline: Instant) -> Result<Ack, Unavailable> {
        let commit = commit(route, append, append.commit.to_string());
        if let Some(queues) = self.group_commit() {
            let queue = queues.partition(route.partition);
            return queue.publish(commit, deadline).await;
        }
        let connection = self.connection();
        connection.publish(commit.publication(), deadline).await
    }

    pub(crate) async fn route(&self, key: &ConversationKey) -> Result<Route, Unavailable> {
        Ok(Route::new(self.partition_of(key).await?, key))
    }
}

impl Route {
    /// The route of a conversation's commits in a partition.
    pub(crate) fn new(partition: Partition, key: &ConversationKey) -> Self {
        Self { partition, stream: topology::stream_name(partition), subject: topology::subject(partition, key) }
    }
}

/// The commit of an append under a message id.
pub(crate) fn commit(route: &Route, append: &Append, id: String) -> Commit {
    Commit {
        subject: route.subject.clone(),
        id,
        expected: append.expected,
        trace: append.trace.clone(),
        payload: append.message.clone(),
    }
}
