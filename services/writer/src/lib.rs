//! The write service: appends commits to the record, and keeps the registry.
//!
//! Data comes from gRPC callers and goes to the record; the read model is asked about old idempotency keys,
//! what tenants, agents and owners store, and forks of what is to be erased. Every
//! command goes one way: [`rpc`] reads the request, [`request`] makes it an [`intent`], [`commit`] carries it out.

pub mod archived;
pub mod base;
pub mod commit;
pub mod config;
pub mod egress_rules;
pub mod erasure;
pub mod fork;
pub mod intent;
pub mod key_age;
pub mod metrics;
pub mod problem;
pub mod queue;
pub mod quotas;
pub mod removal;
pub mod replay;
pub mod request;
pub mod rpc;
pub mod run;
pub mod tips;
pub mod weigh;

use std::sync::Arc;

use domain::{CommitId, ConversationKey, Position, Sequence, Timestamp, Version};
use egress_rules::EgressRules;
use event_log::{Record, Registry};
use read_model::ReadModel;
use runtime::clock::Clock;
use uuid::Uuid;
use wire::token::PositionToken;

use crate::quotas::WriteQuotas;
use base::Bases;
use queue::Queues;
use removal::Removals;
use tips::Tips;

pub use config::WriterConfig;
pub use run::{Running, start};

/// What every command needs. Clones share it.
#[derive(Debug, Clone)]
pub struct Writer(Arc<Parts>);

/// The parts of a [`Writer`].
#[derive(Debug)]
pub struct Parts {
    /// The record.
    pub record: Record,
    /// Tenants, agents, keys and tokens.
    pub registry: Registry,
    /// Which servers tenants may name.
    pub egress: EgressRules,
    /// Old idempotency keys.
    pub read_model: ReadModel,
    /// The heads of conversations written to of late.
    pub bases: Bases,
    /// Where the parts of runs end.
    pub tips: Tips,
    /// A short queue per conversation.
    pub queues: Queues,
    /// What erasures leave to remove.
    pub removals: Removals,
    /// What tenants, agents and owners may append and store.
    pub quotas: WriteQuotas,
    /// The time.
    pub clock: Clock,
}

impl Writer {
    /// A writer of these parts.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    /// The present.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        Timestamp(self.clock.now_nanos())
    }

    /// The token of the position of a conversation's commit.
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

    /// The id of a commit whose caller gave no key: a UUIDv7 of the present.
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
