//! Group commit: the commits that wait for a partition while others are published go out as one atomic batch.
//!
//! A commit stays one message on its own subject. Its outcome is resolved as that of a single publish: a batch only replaces
//! the first publish. When the server rejects a batch, nothing of it is stored. If it names the commit whose check failed,
//! that commit is resolved and the others are sent again at once; otherwise each is published alone.

pub(crate) mod atomic_batch;
pub(crate) mod batch;
mod queue;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use domain::{Partition, Sequence};
use futures::future::join_all;
use metrics::{counter, histogram};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use self::queue::{Bounds, GROUPED_BYTES_MAX, Grouped, Next, Queue, Ticket};
use crate::connection::Connection;
use crate::connection::get::MessageQuery;
use crate::connection::publish::{Ack, Publication};
use crate::error::Unavailable;
use crate::group_commit::atomic_batch::BatchAck;
use crate::headers::TraceHeaders;
use crate::topology;

/// What pays on one replica, where each single publish waits for a sync of its own.
const BOUNDS: Bounds = Bounds { singles_max: 8, batch_commits_min: 24 };
/// What pays on several replicas, where single publishes share the syncs of the Raft log.
const REPLICATED_BOUNDS: Bounds = Bounds { singles_max: 128, batch_commits_min: 128 };
/// Fewer commits of a rejected batch are published alone.
const REST_COMMITS_MIN: usize = 8;
/// How often the rest of a rejected batch is sent again as a batch.
const BATCH_RETRIES_MAX: u32 = 3;
/// Maximum wait of a commit for the publishes before it. Then it is published alone.
const WAIT_MAX: Duration = Duration::from_millis(250);
/// How long the acknowledgement of a commit that is published alone is awaited on several replicas, before its outcome is read: a leader
/// that steps down can lose a message without an answer.
const REPLICATED_ACK_MAX: Duration = Duration::from_secs(1);
const BATCH_COMMITS: &str = "hansard_append_batch_commits";
const BATCHES_REFUSED: &str = "hansard_append_batches_refused_total";

/// The queues of the partitions of a record whose streams accept batches.
#[derive(Debug)]
pub(crate) struct GroupCommit {
    connection: Arc<Connection>,
    bounds: Bounds,
    ack_max: Option<Duration>,
    /// Those of the partitions that this process has appended to.
    queues: RwLock<BTreeMap<Partition, Arc<PartitionQueue>>>,
}

/// The commits of one partition.
#[derive(Debug)]
pub(crate) struct PartitionQueue {
    connection: Arc<Connection>,
    stream: String,
    /// How long the acknowledgement of a commit that is published alone is awaited; `None`: until its deadline.
    ack_max: Option<Duration>,
    queue: Mutex<Queue<Waiting>>,
}

/// A commit to publish.
#[derive(Debug)]
pub(crate) struct Commit {
    pub(crate) subject: String,
    /// The message id.
    pub(crate) id: String,
    /// The sequence of the subject's last message; `None`: it has none.
    pub(crate) expected: Option<Sequence>,
    pub(crate) trace: TraceHeaders,
    pub(crate) payload: Bytes,
}

/// A waiting commit.
#[derive(Debug)]
struct Waiting {
    commit: Commit,
    deadline: Instant,
    turn: oneshot::Sender<Turn>,
}

/// The end of a wait.
#[derive(Debug)]
enum Turn {
    /// The caller publishes the commit alone; `None`: it has waited long enough, and is not counted.
    Alone(Commit, Option<Slot>),
    /// The commit was published in a batch.
    Published(Result<Ack, Unavailable>),
}

/// A publish in flight. A drop lets the next commits follow.
#[derive(Debug)]
struct Slot {
    partition: Arc<PartitionQueue>,
    kind: SlotKind,
}

#[derive(Debug, Clone, Copy)]
enum SlotKind {
    Single,
    Batch,
}

enum Entry {
    /// Publish at once; `None`: the commit is not counted.
    Alone(Commit, Option<Slot>),
    Waits(Ticket, oneshot::Receiver<Turn>),
}

impl GroupCommit {
    /// Queues for streams of `replicas` replicas.
    pub(crate) fn new(connection: &Arc<Connection>, replicas: usize) -> Self {
        let (bounds, ack_max) = match replicas {
            0 | 1 => (BOUNDS, None),
            _ => (REPLICATED_BOUNDS, Some(REPLICATED_ACK_MAX)),
        };
        Self { connection: Arc::clone(connection), bounds, ack_max, queues: RwLock::default() }
    }

    pub(crate) fn partition(&self, partition: Partition) -> Arc<PartitionQueue> {
        let queues = self.queues.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queues.get(&partition) {
            return Arc::clone(queue);
        }
        drop(queues);
        let mut queues = self.queues.write().unwrap_or_else(PoisonError::into_inner);
        let queue = queues.entry(partition).or_insert_with(|| {
            Arc::new(PartitionQueue {
                connection: Arc::clone(&self.connection),
                stream: topology::stream_name(partition),
                ack_max: self.ack_max,
                queue: Mutex::new(Queue::new(self.bounds)),
            })
        });
        Arc::clone(queue)
    }
}

impl Commit {
    pub(crate) fn publication(&self) -> Publication<'_> {
        Publication {
            subject: self.subject.clone(),
            id: Some(&self.id),
            expected: self.expected,
            trace: Some(&self.trace),
            payload: self.payload.clone(),
        }
    }
}

impl Grouped for Waiting {
    fn subject(&self) -> &str {
        &self.commit.subject
    }

    fn bytes(&self) -> usize {
        self.commit.payload.len()
    }

    fn is_abandoned(&self) -> bool {
        self.turn.is_closed()
    }
}

impl Waiting {
    /// Ends the wait; the caller may be gone.
    fn end(self, ack: Result<Ack, Unavailable>) {
        drop(self.turn.send(Turn::Published(ack)));
    }
}

impl PartitionQueue {
    /// Publishes a commit, alone or in a batch.
    pub(crate) async fn publish(self: &Arc<Self>, commit: Commit, deadline: Instant) -> Result<Ack, Unavailable> {
        let (commit, slot) = match self.enter(commit, deadline) {
            Entry::Alone(commit, slot) => (commit, slot),
            Entry::Waits(ticket, turn) => match self.wait_for_turn(ticket, turn).await? {
                Turn::Alone(commit, slot) => (commit, slot),
                Turn::Published(ack) => return ack,
            },
        };
        let publication = commit.publication();
        let ack_max = self.ack_max.map(|ack_max| Instant::now() + ack_max);
        let deadline = ack_max.map_or(deadline, |ack_max| ack_max.min(deadline));
        let ack = self.connection.publish(publication, deadline).await;
        drop(slot);
        ack
    }

    fn enter(self: &Arc<Self>, commit: Commit, deadline: Instant) -> Entry {
        if commit.payload.len() > GROUPED_BYTES_MAX {
            return Entry::Alone(commit, None);
        }
        let mut queue = self.lock();
        if queue.try_single() {
            return Entry::Alone(commit, Some(self.slot(SlotKind::Single)));
        }
        let (sender, turn) = oneshot::channel();
        let ticket = queue.wait(Waiting { commit, deadline, turn: sender });
        Entry::Waits(ticket, turn)
    }

    async fn wait_for_turn(&self, ticket: Ticket, mut turn: oneshot::Receiver<Turn>) -> Result<Turn, Unavailable> {
        let abandoned = Unavailable::new("a batch was abandoned");
        if let Ok(turn) = timeout(WAIT_MAX, &mut turn).await {
            return turn.map_err(|_| abandoned);
        }
        let waiting = self.lock().leave(ticket);
        match waiting {
            Some(waiting) => Ok(Turn::Alone(waiting.commit, None)),
            None => turn.await.map_err(|_| abandoned),
        }
    }

    fn slot(self: &Arc<Self>, kind: SlotKind) -> Slot {
        Slot { partition: Arc::clone(self), kind }
    }

    fn lock(&self) -> MutexGuard<'_, Queue<Waiting>> {
        // The queue is consistent at every unlock: a panic cannot leave it half changed.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self, ended: SlotKind) -> Next<Waiting> {
        let mut queue = self.lock();
        match ended {
            SlotKind::Single => queue.single_ended(),
            SlotKind::Batch => queue.batch_ended(),
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        match self.partition.next(self.kind) {
            Next::Alone(commits) => {
                for Waiting { commit, turn, .. } in commits {
                    let slot = self.partition.slot(SlotKind::Single);
                    drop(turn.send(Turn::Alone(commit, Some(slot))));
                }
            }
            Next::Batch(commits) => {
                let slot = self.partition.slot(SlotKind::Batch);
                // Without a runtime the process ends.
                if let Ok(runtime) = Handle::try_current() {
                    runtime.spawn(slot.publish_batch(commits));
                }
            }
        }
    }
}

impl Slot {
    /// Publishes commits in one batch, and ends their waits.
    async fn publish_batch(self, mut commits: Vec<Waiting>) {
        let connection = &self.partition.connection;
        let deadlines = commits.iter().map(|waiting| waiting.deadline);
        let deadline = deadlines.min().unwrap_or_else(Instant::now);
        for _ in 0..=BATCH_RETRIES_MAX {
            let size = u32::try_from(commits.len()).unwrap_or(u32::MAX);
            histogram!(BATCH_COMMITS).record(f64::from(size));
            let publications = commits.iter().map(|waiting| waiting.commit.publication());
            let batch = connection.publish_batch(publications.collect(), deadline);
            let (code, last_of_subject) = match batch.await {
                Ok(BatchAck::Stored { first }) => return end_stored(commits, first),
                Ok(BatchAck::Refused { code, last_of_subject }) => (code, last_of_subject),
                Err(unavailable) => {
                    let waiting = commits.into_iter();
                    return waiting.for_each(|waiting| waiting.end(Err(unavailable)));
                }
            };
            counter!(BATCHES_REFUSED, "code" => code.to_string()).increment(1);
            let failed = self.find_failed(&commits, last_of_subject, deadline).await;
            let Some(failed) = failed else {
                break;
            };
            commits.swap_remove(failed).end(Ok(Ack::Refused { code }));
            if commits.len() < REST_COMMITS_MIN {
                break;
            }
        }
        join_all(commits.into_iter().map(async |waiting| {
            let publication = waiting.commit.publication();
            let ack = connection.publish(publication, deadline).await;
            waiting.end(ack);
        }))
        .await;
    }

    /// The commit whose check failed, by the last sequence of its subject; `None`: unknown.
    async fn find_failed(&self, commits: &[Waiting], last: Option<Sequence>, deadline: Instant) -> Option<usize> {
        let last = last.filter(|last| last.0 > 0)?;
        let PartitionQueue { connection, stream, .. } = &*self.partition;
        let query = MessageQuery::Sequence(last.0);
        let message = connection.get_from_leader(stream, &query, deadline).await.ok()??;
        let is_of_subject = |waiting: &Waiting| waiting.commit.subject == message.subject;
        commits.iter().position(is_of_subject)
    }
}

/// Ends the waits of the commits of a stored batch.
fn end_stored(commits: Vec<Waiting>, first: Sequence) {
    for (sequence, waiting) in (first.0..).zip(commits) {
        waiting.end(Ok(Ack::Stored(Sequence(sequence))));
    }
}
