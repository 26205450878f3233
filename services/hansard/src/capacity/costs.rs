//! The measured unit costs. `docs/explanation/scale.md` has the table with its sources.

use serde::Serialize;

use super::Load;

/// Commits per second that one partition stores alone, each with a sync of its own.
pub(super) const PARTITION_COMMITS_PER_SECOND: u64 = 4_700;
/// Server memory of a conversation's subject, on each replica.
const SUBJECT_BYTES: u64 = 310;
/// Memory of a hibernated conversation in each writer and gateway.
const HIBERNATED_KEY_BYTES: u64 = 16;
/// Bytes of a commit besides its events: envelope, head, message headers.
const COMMIT_BYTES: u64 = 400;
/// Events of a commit of the measured load.
const EVENTS_PER_COMMIT: u64 = 2;
/// Bytes of the row of a conversation with its indexes.
const CONVERSATION_ROW_BYTES: u64 = 1_960;
/// Bytes of the row of an event with its indexes, besides its body.
const EVENT_ROW_BYTES: u64 = 270;
/// Bytes of an event's document of the search, with its index.
const DOCUMENT_BYTES: u64 = 298;
/// Memory of a process with its connections and buffers.
const PROCESS_BYTES: u64 = 512 * 1_024 * 1_024;

/// A role of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    /// The NATS servers.
    Nats,
    /// The writers.
    Writer,
    /// The projectors.
    Projector,
    /// Postgres.
    Postgres,
    /// The gateways.
    Gateway,
}

impl Role {
    /// All roles, in the order of data.
    pub(crate) const ALL: [Self; 5] = [Self::Nats, Self::Writer, Self::Projector, Self::Postgres, Self::Gateway];

    /// The name for people.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nats => "NATS",
            Self::Writer => "writer",
            Self::Projector => "projector",
            Self::Postgres => "Postgres",
            Self::Gateway => "gateway",
        }
    }

    /// Microseconds of processor time per commit of two events with 350 bytes each, and per context of 20 messages.
    fn micros(self) -> (u64, u64) {
        match self {
            Self::Nats => (117, 40),
            Self::Writer => (90, 0),
            Self::Projector => (50, 0),
            Self::Postgres => (84, 50),
            Self::Gateway => (0, 125),
        }
    }

    /// Microseconds of processor time per second of a load.
    pub(super) fn micros_per_second(self, load: &Load) -> u64 {
        let (commit, context) = self.micros();
        let copies = if self == Self::Nats { load.replicas } else { 1 };
        let commits = load.commits_per_second.saturating_mul(commit);
        let contexts = load.contexts_per_second.saturating_mul(context);
        commits.saturating_mul(copies).saturating_add(contexts)
    }

    pub(super) fn memory_bytes(self, load: &Load) -> u64 {
        let awake = load.conversations.saturating_sub(load.hibernated);
        let conversations = match self {
            Self::Nats => awake.saturating_mul(SUBJECT_BYTES).saturating_mul(load.replicas),
            Self::Writer | Self::Gateway => load.hibernated.saturating_mul(HIBERNATED_KEY_BYTES),
            Self::Projector | Self::Postgres => 0,
        };
        conversations.saturating_add(PROCESS_BYTES)
    }

    pub(super) fn disk_bytes(self, load: &Load) -> u64 {
        let events_of = |conversations: u64| {
            let events = load.events_per_conversation;
            conversations.saturating_mul(events)
        };
        match self {
            Self::Nats => {
                let awake = load.conversations.saturating_sub(load.hibernated);
                let event = load.event_bytes.saturating_add(COMMIT_BYTES / EVENTS_PER_COMMIT);
                events_of(awake).saturating_mul(event).saturating_mul(load.replicas)
            }
            Self::Postgres => {
                let event = load.event_bytes.saturating_add(EVENT_ROW_BYTES + DOCUMENT_BYTES);
                let rows = load.conversations.saturating_mul(CONVERSATION_ROW_BYTES);
                events_of(load.conversations).saturating_mul(event).saturating_add(rows)
            }
            Self::Writer | Self::Projector | Self::Gateway => 0,
        }
    }
}
