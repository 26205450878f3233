//! Reads of heads and events that concurrent requests share: one statement for several conversations of a tenant.
//!
//! Last commits are not read in batches. The server answers requests that arrive together about as fast as one `multi_last`
//! request (14 and 11 µs of its processor time per commit, with 32 in flight), and `multi_last` walks through the blocks of
//! a stream from its end.

use std::num::NonZeroUsize;
use std::thread::available_parallelism;
use std::time::Duration;

use domain::{ConversationId, TenantAccess};
use futures::FutureExt as _;
use read_model::queries::{self, EventQuery};
use read_model::{EventRow, HeadRow, ReadModel, ReadModelError, ReplicaUse};

use crate::batcher::{Batcher, Bounds};
use crate::event::size_bytes;

/// Maximum number of conversations of a statement.
const CONVERSATIONS_PER_STATEMENT_MAX: usize = 16;
/// Bytes of events of each conversation in a statement of several. A conversation with more is read alone.
const CONVERSATION_BYTES_MAX: u64 = 1024 * 1024;
/// A statement usually takes a millisecond. One that takes this long waits for a disk or reads large events: others start.
const SLOT_TIME_MAX: Duration = Duration::from_millis(20);

type RowRead = Result<Option<(HeadRow, Vec<EventRow>)>, ReadModelError>;

/// Batched reads of a process, by server.
#[derive(Debug)]
pub(crate) struct BatchedRows {
    first: Database,
    /// The other ones. A database that does not answer delays no reads of others.
    shards: Vec<Database>,
}

/// The batches of the servers of a database.
#[derive(Debug)]
struct Database {
    model: ReadModel,
    primary: Batches,
    /// In the order of the replicas.
    replicas: Vec<Batches>,
}

/// The batches of a server.
type Batches = Batcher<BatchKey, ConversationId, Option<RowRead>>;

/// What the calls of a batch share.
#[derive(Debug, Clone, PartialEq)]
struct BatchKey {
    access: TenantAccess,
    query: EventQuery,
    /// `None`: the primary.
    replica: Option<ReplicaUse>,
}

impl BatchedRows {
    pub(crate) fn new(model: ReadModel) -> Self {
        let shards = model.shards().iter().cloned().map(Database::of);
        Self { shards: shards.collect(), first: Database::of(model) }
    }

    /// As [`queries::head_and_events`]. `request` is a handle of a request: it determines the server.
    pub(crate) async fn head_and_events(
        &self,
        request: &ReadModel,
        access: &TenantAccess,
        id: &ConversationId,
        query: &EventQuery,
    ) -> RowRead {
        let of = |replica| Call { access, id, query, replica };
        let serves = |shard: &&Database| shard.model.serves(access.tenant());
        let database = self.shards.iter().find(serves).unwrap_or(&self.first);
        if let Some(replica) = request.replica()
            && let Some(batches) = database.replicas.get(replica.index())
            && let Some(model) = database.model.only_on(replica)
        {
            let read = of(Some(replica)).read(batches, &model).await;
            if read.is_ok() {
                return read;
            }
            // A batch belongs to several requests, so it does not switch their handles to the primary.
            request.use_primary();
        }
        of(None).read(&database.primary, &database.model).await
    }
}

impl Database {
    fn of(model: ReadModel) -> Self {
        let replicas = (0..model.replica_count()).map(|_| batches(&model));
        Self { primary: batches(&model), replicas: replicas.collect(), model }
    }
}

/// The read of a conversation on a server.
#[derive(Debug, Clone, Copy)]
struct Call<'c> {
    access: &'c TenantAccess,
    id: &'c ConversationId,
    query: &'c EventQuery,
    replica: Option<ReplicaUse>,
}

impl Call<'_> {
    /// Reads alone or in a batch.
    async fn read(self, batches: &Batches, model: &ReadModel) -> RowRead {
        let alone = || queries::head_and_events(model, self.access, self.id, self.query);
        let read = batches.run(|| self.in_batch(), async { Some(alone().await) });
        match read.await.flatten() {
            Some(read) => read,
            None => alone().await,
        }
    }

    fn in_batch(self) -> (BatchKey, ConversationId) {
        let key = BatchKey { access: self.access.clone(), query: self.query.clone(), replica: self.replica };
        (key, self.id.clone())
    }
}

/// The batches of a server, with a statement in flight for each processor: more would only compete for them.
fn batches(model: &ReadModel) -> Batches {
    let bounds = Bounds {
        slots: available_parallelism().map_or(1, NonZeroUsize::get),
        batch_calls: CONVERSATIONS_PER_STATEMENT_MAX,
        slot_time: SLOT_TIME_MAX,
    };
    let model = model.clone();
    Batcher::new(bounds, move |key: BatchKey, ids| {
        let on_replica = key.replica.and_then(|replica| model.only_on(replica));
        let model = on_replica.unwrap_or_else(|| model.clone());
        read_batch(model, key, ids).boxed()
    })
}

/// The results of several conversations; `None`: the conversation must be read alone, since its events are too large.
async fn read_batch(
    model: ReadModel,
    BatchKey { access, query, .. }: BatchKey,
    ids: Vec<ConversationId>,
) -> Vec<Option<RowRead>> {
    let bounded = EventQuery { bytes_max: query.bytes_max.min(CONVERSATION_BYTES_MAX), ..query };
    let found = queries::heads_and_events(&model, &access, &ids, &bounded)
        .await
        .unwrap_or_else(|error| vec![Err(error); ids.len()]);
    let complete = |read| is_complete(&read, query.bytes_max).then_some(read);
    found.into_iter().map(complete).collect()
}

/// Whether [`CONVERSATION_BYTES_MAX`] has cut off no events of a read of at most `bytes_max`.
fn is_complete(read: &RowRead, bytes_max: u64) -> bool {
    match read {
        Ok(Some((_, events))) => fits(events, bytes_max),
        Ok(None) | Err(_) => true,
    }
}

fn fits(events: &[EventRow], bytes_max: u64) -> bool {
    bytes_max <= CONVERSATION_BYTES_MAX || events.iter().map(size_bytes).sum::<u64>() < CONVERSATION_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use domain::{CommitId, Timestamp, Version};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_conversation_with_too_many_bytes_is_read_alone() {
        let max = CONVERSATION_BYTES_MAX;
        for (bytes, bytes_max, expected) in
            [(max - 1, u64::MAX, true), (max, u64::MAX, false), (max, max + 1, false), (max, max, true)]
        {
            let events = vec![EventRow {
                version: Version(1),
                commit: CommitId(Uuid::nil()),
                recorded_at: Timestamp(0),
                bytes: Bytes::from(vec![0; usize::try_from(bytes).unwrap()]),
            }];
            assert_eq!(fits(&events, bytes_max), expected, "{bytes} {bytes_max}");
        }
    }
}
