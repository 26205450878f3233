//! The record: the only importer of `async-nats`, and the only place that knows how conversations lie in `JetStream`.
//!
//! Owns the streams and the registry's bucket, appends commits and resolves their outcome, reads tails, follows
//! partitions, keeps the parts of runs for a while, and answers who may do what. It decides nothing about conversations: what is in a commit is the
//! domain's and `wire`'s business. No message content, token or key reaches its logs or errors.

mod address;
mod append;
mod archive;
mod batch;
mod config;
mod connection;
mod durability;
mod erase;
mod erase_again;
mod error;
mod feed;
mod find;
mod follow;
mod get;
mod headers;
mod jitter;
mod last;
mod live;
mod logs;
mod message;
mod moments;
mod partition_standing;
mod parts;
mod pending_erasures;
mod publish;
mod receipt_keys;
mod record;
pub mod registry;
mod replay;
mod resolve;
mod restore;
pub mod seal;
mod snapshot;
mod standings;
mod subjects;
mod tail;
mod tls_files;
mod topology;

pub use append::{Append, AppendOutcome};
pub use archive::{
    ArchiveEntry, ArchivedSegment, CatalogueError, CataloguedEntry, TimedMessage, TimedTail,
};
pub use config::{
    API_PREFIX_BYTES_MAX, API_PREFIX_DEFAULT, DUPLICATE_WINDOW, PARTITIONS_DEFAULT, PARTITIONS_MAX,
    PARTS_TTL_SECONDS_DEFAULT, PARTS_TTL_SECONDS_MAX, REPLICAS, REQUEST_TIMEOUT_MS_DEFAULT,
    REQUEST_TIMEOUT_MS_MAX, RecordConfig,
};
pub use durability::Durability;
pub use erase::Overwritten;
pub use erase_again::{EraseAgainError, ErasedStream, HOLES_MAX};
pub use error::{CorruptMessage, RecordError, Unavailable};
pub use follow::FollowedMessage;
pub use headers::TraceHeaders;
pub use live::{LiveItem, LiveSubscription};
pub use logs::{LoggedMessage, LoggedSubject, METERED_KEPT_FOR};
pub use message::StoredMessage;
pub use moments::StoredAt;
pub use partition_standing::PartitionStanding;
pub use parts::{LiveParts, LivePartsItem, PartsBounds, PartsOutcome, PartsPage, StoredParts};
pub use pending_erasures::PendingErasure;
pub use receipt_keys::{
    RECEIPT_KEYS_MAX, RECEIPT_SEED_BYTES, ReceiptKey, ReceiptKeys, receipt_key_id,
};
pub use record::Record;
pub use registry::Registry;
pub use replay::{REPLAY_PREFIX_BYTES_MAX, Replay, ReplayPrefix, ReplayPrefixError};
pub use restore::{Restoration, RestoreError};
pub use snapshot::{Snapshot, StreamDescription};
pub use subjects::ListedConversation;
pub use tail::{LEADER_COMMITS_MAX, Tail, TailBounds};
pub use topology::PartitionBounds;
pub use wire::commit::StoredCommit;
