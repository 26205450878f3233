//! The write service: appends commits to the record, and keeps the registry.
//!
//! Data comes from gRPC callers and goes to the record. The read model is queried for old idempotency keys, stored amounts
//! of tenants, agents and owners, and forks of conversations to be erased. The path of every command: [`rpc`] parses the
//! request, [`request`] converts it into an [`intent`], [`commit`] executes it.

pub mod archive_gap;
pub mod commit;
pub mod config;
pub mod egress_rules;
pub mod erasure;
pub mod fork;
pub mod head_cache;
pub mod idempotency;
pub mod intent;
pub mod key_age;
pub mod metrics;
pub mod problem;
pub mod queue;
pub mod quotas;
pub mod removal;
pub mod request;
pub mod rpc;
pub mod run;
pub mod tips;
pub mod token_count;

use std::sync::Arc;

use domain::{CommitId, ConversationKey, Position, Sequence, Timestamp, Version};
use egress_rules::EgressRules;
use event_log::{Record, Registry};
use read_model::ReadModel;
use runtime::clock::Clock;
use uuid::Uuid;
use wire::token::PositionToken;

use crate::quotas::WriteQuotas;
use head_cache::HeadCache;
use queue::Queues;
use removal::Removals;
use tips::Tips;

pub use config::WriterConfig;
pub use run::{Running, start};

/// The state that all commands share. Clones share it.
#[derive(Debug, Clone)]
pub struct Writer(Arc<Parts>);

/// The parts of a [`Writer`].
#[derive(Debug)]
pub struct Parts {
    /// The record.
    pub record: Record,
    /// Tenants, agents, keys and tokens.
    pub registry: Registry,
    /// The servers that tenants may use.
    pub egress: EgressRules,
    /// Old idempotency keys, stored amounts and forks.
    pub read_model: ReadModel,
    /// The heads of recently written conversations.
    pub heads: HeadCache,
    /// The last parts of runs.
    pub tips: Tips,
    /// A short queue for each conversation.
    pub queues: Queues,
    /// The removals after erasures.
    pub removals: Removals,
    /// The quotas of tenants, agents and owners.
    pub quotas: WriteQuotas,
    /// The clock.
    pub clock: Clock,
}

impl Writer {
    /// A writer with these parts.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    /// The current time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        Timestamp(self.clock.now_nanos())
    }

    /// The position token of a commit.
    #[must_use]
    pub fn position_token(
        &self,
        key: &ConversationKey,
        sequence: Sequence,
        version: Version,
    ) -> String {
        let position = Position {
            partition: self.record.partition_of(key),
            sequence,
        };
        PositionToken {
            record: self.record.id(),
            position,
            version,
        }
        .encode()
    }

    /// The id of a commit without an idempotency key: a UUIDv7 with the current time.
    #[must_use]
    pub fn new_commit_id() -> CommitId {
        CommitId(Uuid::now_v7())
    }
}

impl std::ops::Deref for Writer {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}
