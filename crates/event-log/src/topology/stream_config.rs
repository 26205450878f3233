//! The configuration of each stream at its creation.

use std::collections::HashMap;
use std::time::Duration;

use async_nats::jetstream::stream::{Config, DiscardPolicy, Placement, Republish, RetentionPolicy, StorageType};
use domain::Partition;
use domain::bounds::LOG_DAYS_MAX;

use super::{
    ARCHIVE_PREFIX, ARCHIVE_STREAM, FORM, Identity, KEY_FORM, KEY_PARTITIONS, KEY_RECORD, LAYOUT_STREAM,
    LAYOUT_SUBJECTS, REGISTRY_PREFIX, REGISTRY_STREAM, RESTRICTED_PREFIX, RESTRICTED_STREAM, erasures, live_subject,
    logs, parts_stream_name, stream_name,
};
use crate::connection::config::{DUPLICATE_WINDOW, RecordConfig};

/// Duplicate window of the streams whose changes name the revision that they replace, and of logged calls.
const SHORT_DUPLICATE_WINDOW: Duration = Duration::from_mins(2);
const LOGS_AGE_MAX: Duration = Duration::from_hours(24).saturating_mul(LOG_DAYS_MAX);
/// Maximum bytes of the stream of logged calls: 1 GiB, which the server reserves.
const LOGS_BYTES_MAX: i64 = 1_024 * 1_024 * 1_024;

pub(super) fn partition(partition: Partition, identity: Identity, config: &RecordConfig) -> Config {
    Config {
        name: stream_name(partition),
        description: Some("The record: conversations, one commit a message".to_owned()),
        duplicate_window: DUPLICATE_WINDOW,
        ..republished(format!("hansard.{partition}.>"), identity, config)
    }
}

/// A key-value bucket of NATS, except that messages may be deleted, for the erasure of tenants.
pub(super) fn registry(identity: Identity, config: &RecordConfig) -> Config {
    Config {
        name: REGISTRY_STREAM.to_owned(),
        description: Some("The registry: tenants, agents, keys and tokens".to_owned()),
        allow_rollup: true,
        ..entries(format!("{REGISTRY_PREFIX}>"), identity, config)
    }
}

/// A bucket that only writers and operators may read, from its leader only.
pub(super) fn restricted(identity: Identity, config: &RecordConfig) -> Config {
    Config {
        name: RESTRICTED_STREAM.to_owned(),
        description: Some("Secrets of writers and operators: the keys of receipts".to_owned()),
        allow_direct: false,
        ..entries(format!("{RESTRICTED_PREFIX}>"), identity, config)
    }
}

/// The stream of a partition's run parts. Messages have no id: the expected sequence prevents copies.
pub(super) fn parts(partition: Partition, identity: Identity, config: &RecordConfig) -> Config {
    Config {
        name: parts_stream_name(partition),
        description: Some("Parts of runs, kept for a while".to_owned()),
        max_age: Duration::from_secs(config.parts_ttl_seconds),
        ..republished(format!("hansard_parts.{partition}.>"), identity, config)
    }
}

/// The stream of logged calls: limited in age and bytes, dropping the oldest; messages may have a shorter TTL.
pub(super) fn logs(identity: Identity, config: &RecordConfig) -> Config {
    Config {
        name: logs::STREAM.to_owned(),
        description: Some("Logged calls of model servers, kept for a while".to_owned()),
        subjects: vec![logs::SUBJECTS.to_owned()],
        max_age: LOGS_AGE_MAX,
        max_bytes: LOGS_BYTES_MAX,
        discard: DiscardPolicy::Old,
        allow_message_ttl: true,
        duplicate_window: SHORT_DUPLICATE_WINDOW,
        ..common(identity, config)
    }
}

/// The catalogue of the archive: the last entry of each segment.
pub(crate) fn archive(identity: Identity, config: &RecordConfig) -> Config {
    Config {
        name: ARCHIVE_STREAM.to_owned(),
        description: Some("The archive's catalogue: what of the record is elsewhere".to_owned()),
        ..entries(format!("{ARCHIVE_PREFIX}>"), identity, config)
    }
}

/// The layout of a record that has grown: the last entry.
pub(crate) fn layout(identity: Identity, config: &RecordConfig) -> Config {
    Config {
        name: LAYOUT_STREAM.to_owned(),
        description: Some("The layout: the generations of partitions".to_owned()),
        ..entries(LAYOUT_SUBJECTS.to_owned(), identity, config)
    }
}

/// The list of erasures in progress: the last entry of each conversation.
pub(crate) fn erasures(identity: Identity, config: &RecordConfig) -> Config {
    Config {
        name: erasures::STREAM.to_owned(),
        description: Some("Erasures in progress, one entry a conversation".to_owned()),
        ..entries(erasures::SUBJECTS.to_owned(), identity, config)
    }
}

/// A stream that republishes its messages for live subscriptions.
fn republished(subjects: String, identity: Identity, config: &RecordConfig) -> Config {
    Config {
        republish: Some(Republish {
            source: subjects.clone(),
            destination: live_subject(&subjects),
            headers_only: false,
        }),
        subjects: vec![subjects],
        ..common(identity, config)
    }
}

/// A stream that keeps the last message of each subject.
fn entries(subjects: String, identity: Identity, config: &RecordConfig) -> Config {
    Config {
        subjects: vec![subjects],
        max_messages_per_subject: 1,
        duplicate_window: SHORT_DUPLICATE_WINDOW,
        ..common(identity, config)
    }
}

fn placement(tags: &[String]) -> Option<Placement> {
    (!tags.is_empty()).then(|| Placement { cluster: None, tags: tags.to_vec() })
}

/// Common settings: on disk, without limits that drop acknowledged messages. At the account's own limit, new messages are
/// rejected.
fn common(identity: Identity, config: &RecordConfig) -> Config {
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
        placement: placement(&config.placement_tags),
        allow_direct: true,
        metadata: HashMap::from([
            (KEY_RECORD.to_owned(), hex::encode(identity.id.0)),
            (KEY_PARTITIONS.to_owned(), identity.partitions.to_string()),
            (KEY_FORM.to_owned(), FORM.to_owned()),
        ]),
        ..Config::default()
    }
}
