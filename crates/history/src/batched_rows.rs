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
use read_model::{EventRow, HeadRow, RETRY_AFTER_MS, ReadModel, ReadModelError};

use crate::batcher::{Batcher, Bounds};

/// Maximum number of conversations of a statement.
const CONVERSATIONS_PER_STATEMENT_MAX: usize = 16;
/// A statement usually takes a millisecond. One that takes this long waits for a disk or reads large events: others start.
const SLOT_TIME_MAX: Duration = Duration::from_millis(20);

type RowRead = Result<Option<(HeadRow, Vec<EventRow>)>, ReadModelError>;

/// Batched reads of a process. Clones share the batches.
#[derive(Debug, Clone)]
pub(crate) struct BatchedRows {
    model: ReadModel,
    batcher: Batcher<(TenantAccess, EventQuery), ConversationId, RowRead>,
}

impl BatchedRows {
    /// With a statement in flight for each processor: more would only compete for them.
    pub(crate) fn new(model: ReadModel) -> Self {
        let bounds = Bounds {
            slots: available_parallelism().map_or(1, NonZeroUsize::get),
            batch_calls: CONVERSATIONS_PER_STATEMENT_MAX,
            slot_time: SLOT_TIME_MAX,
        };
        let of_batches = model.clone();
        let batcher = Batcher::new(bounds, move |(access, query), ids| {
            read_batch(of_batches.clone(), access, query, ids).boxed()
        });
        Self { model, batcher }
    }

    /// As [`queries::head_and_events`].
    pub(crate) async fn head_and_events(
        &self,
        access: &TenantAccess,
        id: &ConversationId,
        query: &EventQuery,
    ) -> RowRead {
        let call = || ((access.clone(), query.clone()), id.clone());
        let alone = queries::head_and_events(&self.model, access, id, query);
        let cancelled = || {
            Err(ReadModelError::Unavailable {
                reason: "a batch of reads was cancelled".to_owned(),
                retry_after_ms: RETRY_AFTER_MS,
            })
        };
        let read = self.batcher.run(call, alone).await;
        read.unwrap_or_else(cancelled)
    }
}

async fn read_batch(
    model: ReadModel,
    access: TenantAccess,
    query: EventQuery,
    ids: Vec<ConversationId>,
) -> Vec<RowRead> {
    let found = queries::heads_and_events(&model, &access, &ids, &query).await;
    found.unwrap_or_else(|error| vec![Err(error); ids.len()])
}
