//! The write service: appends commits to the record, and keeps the registry.
//!
//! Data comes from gRPC callers and goes to the record. The read model is queried for old idempotency keys, stored amounts
//! of tenants, agents and owners, and forks of conversations to be erased. The path of every command: `rpc` parses the
//! request, `request` converts it into an intent, `commit` executes it.

mod attempt;
mod audit;
mod commit;
mod config;
mod document_rules;
mod egress_rules;
mod endorsement;
mod erasure;
mod fork;
mod head_cache;
mod idempotency;
pub mod key_age;
mod key_report;
mod metrics;
mod problem;
mod queue;
mod quotas;
mod removal;
mod request;
mod rpc;
mod run;
mod tips;
mod token_count;

use std::sync::Arc;

use archive::Archive;
use domain::{CommitId, ConversationKey, Position, RecentCommit, Sequence, Timestamp};
use egress_rules::EgressRules;
use event_log::Record;
use read_model::ReadModel;
use registry::Registry;
use runtime::clock::Clock;
use runtime::compute::Compute;
use uuid::Uuid;
use wire::proto::write::v1::CommitResult;
use wire::status::Problem;
use wire::token::PositionToken;

use crate::quotas::WriteQuotas;
use head_cache::{HeadCache, LoadedHead, StoredHead};
use queue::Queues;
use removal::Removals;
use request::Intent;
use tips::Tips;

pub use config::WriterConfig;
pub use run::{Running, start};

/// The state that all commands share. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Writer(Arc<Parts>);

#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) record: Record,
    /// The archive, which has the last commits of hibernated conversations.
    pub(crate) archive: Archive,
    /// Tenants, agents, keys and tokens.
    pub(crate) registry: Registry,
    /// The servers that tenants may use.
    pub(crate) egress: EgressRules,
    /// Old idempotency keys, stored amounts and forks.
    pub(crate) read_model: ReadModel,
    /// The heads of recently written conversations.
    pub(crate) heads: HeadCache,
    /// The last parts of runs.
    pub(crate) tips: Tips,
    /// A short queue for each conversation.
    pub(crate) queues: Queues,
    pub(crate) removals: Removals,
    /// The quotas of tenants, agents and owners.
    pub(crate) quotas: WriteQuotas,
    /// Whether people who signed in at a provider change settings and keys.
    pub(crate) provider_sign_ins: bool,
    /// The turns of what tenants make this process compute.
    pub(crate) compute: Compute,
    pub(crate) clock: Clock,
}

impl Writer {
    pub(crate) fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    /// Checks what a tenant wrote, when its turn comes.
    ///
    /// # Errors
    /// Too much work of the tenant waits.
    pub(crate) async fn check<T>(&self, tenant: &str, work: impl FnOnce() -> T) -> Result<T, Problem> {
        self.compute.run(tenant, work).await.map_err(problem::from_busy)
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp(self.clock.now_nanos())
    }

    /// The time of a commit: by the clock of this writer, unless it differs from the record's.
    ///
    /// # Errors
    /// The servers do not answer with their time.
    pub(crate) async fn record_time(&self, key: &ConversationKey) -> Result<Timestamp, Problem> {
        let time = self.record.server_time(key).await.map_err(problem::from_record)?;
        Ok(time.bound(self.now()))
    }

    /// The result of the commit at this sequence of a conversation.
    ///
    /// # Errors
    /// The conversation's partition is not known, and the record does not answer.
    pub(crate) async fn commit_result(
        &self,
        key: &ConversationKey,
        commit: &RecentCommit,
        sequence: Sequence,
    ) -> Result<CommitResult, Problem> {
        let partition = self.archive.partition_of(key).await;
        let token = PositionToken {
            record: self.record.id(),
            position: Position { partition: partition.map_err(problem::from_record)?, sequence },
            version: commit.last_version,
        };
        Ok(CommitResult {
            conversation_id: key.conversation.as_str().to_owned(),
            commit_id: commit.id.to_string(),
            first_version: commit.first_version.0,
            version: commit.last_version.0,
            recorded_at: Some(wire::time::to_proto(commit.recorded_at)),
            position_token: token.encode(),
            replayed: false,
        })
    }

    /// The id of a commit without an idempotency key: a UUIDv7 with the current time.
    pub(crate) fn new_commit_id() -> CommitId {
        CommitId(Uuid::now_v7())
    }
}

impl std::ops::Deref for Writer {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}
