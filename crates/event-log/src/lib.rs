//! The record: the only importer of `async-nats`, and the only crate with the layout of conversations in `JetStream`.
//!
//! It owns the streams and the key-value buckets. It appends commits and resolves their outcome, reads tails, follows
//! partitions, and stores the parts of runs for a limited time. It contains no rules of conversations and of callers:
//! `domain` and `wire` define what a commit contains. No message content, token or key is in its logs or errors.

mod address;
mod admission;
mod append;
mod archive;
mod atomic_batch;
mod batch;
mod bucket;
mod config;
mod connection;
mod consumer;
mod durability;
mod erase;
mod erase_again;
mod error;
mod feed;
mod find;
mod first_append;
mod follow;
mod get;
mod group_commit;
mod growth;
mod headers;
mod jitter;
mod known_ends;
mod known_layout;
mod known_time;
mod last;
mod last_commits;
mod leaders;
mod live;
mod locate;
mod logs;
mod message;
mod outage;
mod partition_status;
mod parts;
mod pending_erasures;
mod prefix;
mod publish;
mod put;
mod read_limit;
mod reads;
mod receipt_keys;
mod record;
mod replay;
mod replicas;
mod resolve;
mod restore;
mod restore_marker;
pub mod seal;
mod seek;
mod server_time;
mod snapshot;
mod subjects;
mod tail;
mod tls_files;
mod topology;

pub use append::{Append, AppendOutcome};
pub use archive::{
    ArchiveEntry, ArchivedSegment, CatalogueError, CatalogueRevision, CataloguedEntry, TimedMessage, TimedTail,
};
pub use bucket::{Bucket, BucketChange, BucketChanges, BucketEntry, BucketPut};
pub use config::{
    API_PREFIX_BYTES_MAX, API_PREFIX_DEFAULT, DUPLICATE_WINDOW, PARTITIONS_DEFAULT, PARTS_TTL_SECONDS_DEFAULT,
    PARTS_TTL_SECONDS_MAX, PLACEMENT_TAGS_MAX, REPLICAS, REQUEST_TIMEOUT_MS_DEFAULT, REQUEST_TIMEOUT_MS_MAX,
    RecordConfig,
};
pub use durability::Durability;
pub use erase::{ErasedCounts, Removal};
pub use erase_again::{EraseAgainError, ErasedStream, HOLES_MAX};
pub use error::{CorruptMessage, RecordError, Unavailable};
pub use find::CLOCK_SKEW_MAX;
pub use follow::FollowedMessage;
pub use growth::GrowthError;
pub use headers::TraceHeaders;
pub use known_layout::STAGE_TIME_MIN;
pub use known_time::ServerTime;
pub use live::{LiveItem, LiveSubscription};
pub use logs::{LoggedMessage, LoggedSubject, METERED_RETENTION};
pub use message::StoredMessage;
pub use outage::{OUTAGE_MAX, Outage, without_outages};
pub use partition_status::PartitionStatus;
pub use parts::{LiveParts, LivePartsItem, PartsBounds, PartsOutcome, PartsPage, StoredParts};
pub use pending_erasures::PendingErasure;
pub use prefix::PrefixMismatch;
pub use receipt_keys::{RECEIPT_KEYS_MAX, RECEIPT_SEED_BYTES, ReceiptKey, ReceiptKeys, receipt_key_id};
pub use record::Record;
pub use replay::{REPLAY_PREFIX_BYTES_MAX, Replay, ReplayPrefix, ReplayPrefixError};
pub use replicas::{StreamKind, StreamReplicas};
pub use restore::{Restore, RestoreError};
pub use seek::TimedSequence;
pub use server_time::SERVER_SKEW_MAX;
pub use snapshot::{CopyOrder, Snapshot, StreamDescription};
pub use subjects::{ConversationMessages, ListedConversation};
pub use tail::{LEADER_COMMITS_MAX, Tail, TailBounds};
pub use topology::PartitionBounds;
pub use wire::commit::StoredCommit;
