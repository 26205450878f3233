//! The configuration of each stream as it is made.

use std::collections::HashMap;
use std::time::Duration;

use async_nats::jetstream::stream::{
    Config, DiscardPolicy, Republish, RetentionPolicy, StorageType,
};
use domain::Partition;
use domain::bounds::LOG_DAYS_MAX;

use super::{
    ARCHIVE_PREFIX, ARCHIVE_STREAM, FORM, Identity, KEY_FORM, KEY_PARTITIONS, KEY_RECORD,
    REGISTRY_PREFIX, REGISTRY_STREAM, RESTRICTED_PREFIX, RESTRICTED_STREAM, erasures, live_subject,
    logs, parts_stream_name, stream_name,
};
use crate::config::{DUPLICATE_WINDOW, RecordConfig};

/// How long the catalogue knows the ids of its messages: a change names the entry that it replaces, which is enough.
const ARCHIVE_DUPLICATE_WINDOW: Duration = Duration::from_mins(2);
/// How long the list of erasures knows the ids of its messages: a change names the entry that it replaces, which is enough.
const ERASURES_DUPLICATE_WINDOW: Duration = Duration::from_mins(2);
/// How long the bucket knows the ids of its messages.
const REGISTRY_DUPLICATE_WINDOW: Duration = Duration::from_mins(2);

/// How long the stream of logged calls knows the ids of its messages.
const LOGS_DUPLICATE_WINDOW: Duration = Duration::from_mins(2);
/// The longest that the stream of logged calls keeps one.
const LOGS_AGE_MAX: Duration = Duration::from_hours(24).saturating_mul(LOG_DAYS_MAX);
/// Most bytes of the stream of logged calls: 1 GiB, which its server sets aside.
const LOGS_BYTES_MAX: i64 = 1_024 * 1_024 * 1_024;

/// The stream of a partition.
pub(super) fn partition(partition: Partition, identity: Identity, config: &RecordConfig) -> Config {
    let subjects = format!("hansard.{partition}.>");
    Config {
        name: stream_name(partition),
        description: Some("The record: conversations, one commit a message".to_owned()),
        republish: Some(Republish {
            source: subjects.clone(),
            destination: live_subject(&subjects),
            headers_only: false,
        }),
        subjects: vec![subjects],
        duplicate_window: DUPLICATE_WINDOW,
        ..stream_config(identity, config)
    }
}

/// A key-value bucket, as the server's own tools know one, but that its messages may be deleted: an erased tenant's are.
pub(super) fn registry(identity: Identity, config: &RecordConfig) -> Config {
    Config {
        name: REGISTRY_STREAM.to_owned(),
        description: Some("The registry: tenants, agents, keys and tokens".to_owned()),
        subjects: vec![format!("{REGISTRY_PREFIX}>")],
        max_messages_per_subject: 1,
        allow_rollup: true,
        duplicate_window: REGISTRY_DUPLICATE_WINDOW,
        ..stream_config(identity, config)
    }
}

/// A bucket of what only writers and operators may read. Its messages are read from the leader alone.
pub(super) fn restricted(identity: Identity, config: &RecordConfig) -> Config {
    Config {
        name: RESTRICTED_STREAM.to_owned(),
        description: Some("Secrets of writers and operators: the keys of receipts".to_owned()),
        subjects: vec![format!("{RESTRICTED_PREFIX}>")],
        max_messages_per_subject: 1,
        duplicate_window: REGISTRY_DUPLICATE_WINDOW,
        allow_direct: false,
        ..stream_config(identity, config)
    }
}

/// The stream of the parts of a partition's runs. What is published has no id: the expected sequence lets it in once.
pub(super) fn parts(partition: Partition, identity: Identity, config: &RecordConfig) -> Config {
    let subjects = format!("hansard_parts.{partition}.>");
    Config {
        name: parts_stream_name(partition),
        description: Some("Parts of runs, kept for a while".to_owned()),
        republish: Some(Republish {
            source: subjects.clone(),
            destination: live_subject(&subjects),
            headers_only: false,
        }),
        subjects: vec![subjects],
        max_age: config.parts_ttl(),
        ..stream_config(identity, config)
    }
}

/// The stream of logged calls: a bound of its own in time and bytes, beyond which the oldest go, and a shorter time for
/// each message that names one.
pub(super) fn logs(identity: Identity, config: &RecordConfig) -> Config {
    Config {
        name: logs::STREAM.to_owned(),
        description: Some("Logged calls of model servers, kept for a while".to_owned()),
        subjects: vec![logs::SUBJECTS.to_owned()],
        max_age: LOGS_AGE_MAX,
        max_bytes: LOGS_BYTES_MAX,
        discard: DiscardPolicy::Old,
        allow_message_ttl: true,
        duplicate_window: LOGS_DUPLICATE_WINDOW,
        ..stream_config(identity, config)
    }
}

/// The catalogue of the archive: the last word on each segment.
pub(super) fn archive(identity: Identity, config: &RecordConfig) -> Config {
    Config {
        name: ARCHIVE_STREAM.to_owned(),
        description: Some("The archive's catalogue: what of the record is elsewhere".to_owned()),
        subjects: vec![format!("{ARCHIVE_PREFIX}>")],
        max_messages_per_subject: 1,
        duplicate_window: ARCHIVE_DUPLICATE_WINDOW,
        ..stream_config(identity, config)
    }
}

/// The list of erasures in progress: the last entry of each conversation.
pub(super) fn erasures(identity: Identity, config: &RecordConfig) -> Config {
    Config {
        name: erasures::STREAM.to_owned(),
        description: Some("Erasures in progress, one entry a conversation".to_owned()),
        subjects: vec![erasures::SUBJECTS.to_owned()],
        max_messages_per_subject: 1,
        duplicate_window: ERASURES_DUPLICATE_WINDOW,
        ..stream_config(identity, config)
    }
}

/// What all streams have: on disk, without a limit that would drop what was acknowledged; when the account's own limit
/// is reached, new messages are refused.
fn stream_config(identity: Identity, config: &RecordConfig) -> Config {
    Config {
        max_messages: -1,
        max_bytes: -1,
        max_messages_per_subject: -1,
        max_message_size: -1,
        max_consumers: -1,
        discard: DiscardPolicy::New,
        retention: RetentionPolicy::Limits,
        storage: StorageType::File,
        num_replicas: config.replicas,
        allow_direct: true,
        metadata: HashMap::from([
            (KEY_RECORD.to_owned(), hex::encode(identity.id.0)),
            (KEY_PARTITIONS.to_owned(), identity.partitions.to_string()),
            (KEY_FORM.to_owned(), FORM.to_owned()),
        ]),
        ..Config::default()
    }
}
