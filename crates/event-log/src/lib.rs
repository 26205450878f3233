//! The record: the only importer of `async-nats`, and the only crate with the layout of conversations in `JetStream`.
//!
//! It owns the streams and the key-value buckets. It appends commits and resolves their outcome, reads tails, follows
//! partitions, and stores the parts of runs for a limited time. It contains no rules of conversations and of callers:
//! `domain` and `wire` define what a commit contains. No message content, token or key is in its logs or errors.

mod append;
mod bucket;
mod connection;
mod copies;
mod erase;
mod error;
mod group_commit;
mod headers;
mod logs;
mod message;
mod parts;
mod put;
mod read;
mod receipt_keys;
mod record;
pub mod seal;
mod streams;
mod topology;

pub use append::{Append, AppendOutcome};
pub use bucket::{Bucket, BucketChange, BucketChanges, BucketEntry, BucketPut};
pub use connection::config::{
    API_PREFIX_BYTES_MAX, API_PREFIX_DEFAULT, DUPLICATE_WINDOW, PARTITIONS_DEFAULT, PARTS_TTL_SECONDS_DEFAULT,
    PARTS_TTL_SECONDS_MAX, PLACEMENT_TAGS_MAX, REPLICAS, REQUEST_TIMEOUT_MS_DEFAULT, REQUEST_TIMEOUT_MS_MAX,
    RecordConfig,
};
pub use connection::durability::Durability;
pub use connection::known_time::ServerTime;
pub use connection::outage::{OUTAGE_MAX, Outage, without_outages};
pub use copies::archive::{
    ArchiveEntry, ArchivedSegment, CatalogueError, CatalogueRevision, CataloguedEntry, TimedMessage, TimedTail,
};
pub use copies::restore::{Restore, RestoreError};
pub use copies::snapshot::{CopyOrder, Snapshot, StreamDescription};
pub use erase::again::{EraseAgainError, ErasedStream, HOLES_MAX};
pub use erase::pending::PendingErasure;
pub use erase::{ErasedCounts, Removal};
pub use error::{CorruptMessage, RecordError, Unavailable};
pub use headers::TraceHeaders;
pub use logs::{LoggedMessage, LoggedSubject, METERED_RETENTION};
pub use message::StoredMessage;
pub use parts::{LiveParts, LivePartsItem, PartsBounds, PartsOutcome, PartsPage, StoredParts};
pub use read::find::CLOCK_SKEW_MAX;
pub use read::follow::FollowedMessage;
pub use read::live::{LiveItem, LiveSubscription};
pub use read::prefix::PrefixMismatch;
pub use read::replay::{REPLAY_PREFIX_BYTES_MAX, Replay, ReplayPrefix, ReplayPrefixError};
pub use read::seek::TimedSequence;
pub use read::tail::{LEADER_COMMITS_MAX, Tail, TailBounds};
pub use receipt_keys::{RECEIPT_KEYS_MAX, RECEIPT_SEED_BYTES, ReceiptKey, ReceiptKeys, receipt_key_id};
pub use record::Record;
pub use streams::growth::GrowthError;
pub use streams::partition_status::PartitionStatus;
pub use streams::replicas::{StreamKind, StreamReplicas};
pub use streams::server_time::SERVER_SKEW_MAX;
pub use streams::subjects::{ConversationMessages, ListedConversation};
pub use topology::PartitionBounds;
pub use topology::known_layout::STAGE_TIME_MIN;
pub use wire::commit::StoredCommit;
