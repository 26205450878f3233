//! The dependencies of reads, the conversation that a request reads, and the required freshness.

use std::sync::Arc;
use std::time::Duration;

use archive::Archive;
use domain::{ConversationId, ConversationKey, Position, TenantAccess, TenantId};
use event_log::{Record, StoredMessage};
use read_model::projections::conversations::wait_until_reached;
use read_model::queries::EventQuery;
use read_model::{EventRow, HeadRow, ReadModel, ReadModelError};
use registry::AgentAccess;
use wire::status::Problem;

use crate::batched_rows::BatchedRows;
use crate::deadline::Deadline;
use crate::known_lineages::KnownLineages;

/// The record, the read model and the timeout of fences. Clones share them.
#[derive(Debug, Clone)]
pub struct Reader {
    /// The record.
    pub record: Record,
    /// The archive of the record, which has the last commits of hibernated conversations.
    pub archive: Archive,
    /// The read model: that of the process, which reads the primary; or of one request, see [`Reader::for_request`].
    pub read_model: ReadModel,
    /// The lineages of forks that were read.
    pub known_lineages: KnownLineages,
    /// The longest wait until a fence is reached.
    pub fence_wait: Duration,
    batched_rows: Arc<BatchedRows>,
}

impl Reader {
    /// A reader. Reads with a fence wait at most `fence_wait` until they reach it.
    #[must_use]
    pub fn new(archive: Archive, read_model: ReadModel, fence_wait: Duration) -> Self {
        Self {
            batched_rows: Arc::new(BatchedRows::new(read_model.clone())),
            known_lineages: KnownLineages::default(),
            record: archive.record().clone(),
            archive,
            read_model,
            fence_wait,
        }
    }

    /// A reader for one request of a tenant, which may read the rows of a replica: see [`ReadModel::for_request`].
    #[must_use]
    pub fn for_request(&self, tenant: &TenantId) -> Arc<Self> {
        Arc::new(Self { read_model: self.read_model.for_request(tenant), ..self.clone() })
    }

    /// The read model for a request of a tenant whose rows must include these positions: that of a replica that has them, or the primary
    /// after a wait. `None`: not within [`Reader::fence_wait`].
    ///
    /// # Errors
    /// [`ReadModelError::Unavailable`].
    pub async fn rows_at(
        &self,
        tenant: &TenantId,
        positions: &[Position],
        tables: FencedTables,
    ) -> Result<Option<ReadModel>, ReadModelError> {
        let rows = self.read_model.for_request(tenant);
        if positions.is_empty() {
            return Ok(Some(rows));
        }
        if rows.replica().is_some() {
            if tables.have(&rows, positions, Duration::ZERO).await? {
                return Ok(Some(rows));
            }
            rows.use_newer_rows();
        }
        let is_reached = tables.have(&rows, positions, self.fence_wait).await?;
        Ok(is_reached.then_some(rows))
    }

    /// The head and the events of a query, in one snapshot.
    pub(crate) async fn head_and_events(
        &self,
        access: &TenantAccess,
        id: &ConversationId,
        query: &EventQuery,
    ) -> Result<Option<(HeadRow, Vec<EventRow>)>, ReadModelError> {
        let model = &self.read_model;
        self.batched_rows.head_and_events(model, access, id, query).await
    }
}

/// The tables that must include the positions of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FencedTables {
    /// Those of conversations.
    Conversations,
    /// Those, and the index of the search.
    Search,
}

impl FencedTables {
    async fn have(self, rows: &ReadModel, positions: &[Position], wait_max: Duration) -> Result<bool, ReadModelError> {
        let have = wait_until_reached(rows, positions, wait_max).await?;
        match self {
            Self::Search if have => wait_until_reached(&rows.for_search(), positions, wait_max).await,
            Self::Search | Self::Conversations => Ok(have),
        }
    }
}

/// The conversation to read, and the required freshness.
#[derive(Debug, Clone)]
pub struct Target {
    /// The caller's permission to read the agent's conversations.
    pub access: AgentAccess,
    /// The conversation.
    pub key: ConversationKey,
    /// The required freshness.
    pub freshness: Freshness,
    /// The position that the read must reach: that of a write before it.
    pub fence: Option<Position>,
    /// The deadline of reads from record and rows.
    pub deadline: Deadline,
}

impl Target {
    /// The same read of another conversation, without the fence.
    pub(crate) fn of(&self, conversation: ConversationId) -> Self {
        Self { key: ConversationKey { tenant: self.key.tenant.clone(), conversation }, fence: None, ..self.clone() }
    }

    /// The last commit of the record, from the source that the freshness requires.
    pub(crate) async fn last(&self, reader: &Reader) -> Result<Option<StoredMessage>, Problem> {
        let record = &reader.record;
        match self.freshness {
            Freshness::Eventual => Ok(None),
            Freshness::Fresh => self.deadline.record(record.last(&self.key)).await,
            Freshness::Leader => {
                let last = reader.archive.last_commit(&self.key);
                self.deadline.record(last).await
            }
        }
    }
}

/// The freshness of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// It contains the rows, the later commits of any replica of the record, and the fence of the target.
    Fresh,
    /// It contains every commit that was acknowledged before it started: the last commit is read from the leader of the
    /// stream. For reads that decide about a write.
    Leader,
    /// It contains only the rows.
    Eventual,
}
