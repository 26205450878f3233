//! The names and configurations of the streams, and the creation of a record.
//!
//! The process that creates the first stream defines the record's id and number of partitions. All other streams copy both, so
//! several processes may create a record at once.
//!
//! The streams of run parts, of logged calls and of the archive's catalogue are not required: a record of an earlier version
//! without them can be opened. The next writer that starts creates them; until then parts and logs are unavailable, and
//! the archive is empty.

mod batches;
pub(crate) mod erasures;
pub(crate) mod known_layout;
mod layout;
pub(crate) mod logs;
pub(crate) mod restore_marker;
pub(crate) mod stream_config;
mod stream_info;
mod stream_update;

use std::fmt;
use std::ops::Range;

use async_nats::jetstream::stream::Config;
use domain::{ConversationId, ConversationKey, Partition, RunId, Sequence, TenantId};
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;
use wire::token::RecordId;

use crate::connection::config::RecordConfig;
use crate::connection::known_time;
use crate::connection::reads::ApiAnswer;
use crate::connection::{ApiFailure, Connection, NO_LEADER};
use crate::error::{RecordError, Unavailable};

pub(crate) use batches::accept_batches;
pub(crate) use layout::{StoredLayout, encode};
pub use stream_info::PartitionBounds;
pub(crate) use stream_info::StreamInfo;

/// The stream of the registry's bucket, and the subject prefix of its keys.
pub(crate) const REGISTRY_STREAM: &str = "KV_HANSARD_registry";
pub(crate) const REGISTRY_PREFIX: &str = "$KV.HANSARD_registry.";
/// The stream of the bucket that only writers and operators may read, and the subject prefix of its keys.
pub(crate) const RESTRICTED_STREAM: &str = "KV_HANSARD_restricted";
pub(crate) const RESTRICTED_PREFIX: &str = "$KV.HANSARD_restricted.";
/// The stream of the layout's entry, which exists once the record has grown, and the entry's subject.
pub(crate) const LAYOUT_STREAM: &str = "HANSARD_LAYOUT";
pub(crate) const LAYOUT_SUBJECT: &str = "hansard-layout.partitions";
/// The subjects of the layout's stream. As those of every stream, they have a wildcard: a push consumer delivers only to a subject
/// that somebody subscribes to literally, so no reader can create one that delivers into a stream.
pub(crate) const LAYOUT_SUBJECTS: &str = "hansard-layout.*";
/// The stream of the archive's catalogue, and the subject prefix of its entries.
pub(crate) const ARCHIVE_STREAM: &str = "HANSARD_ARCHIVE";
pub(crate) const ARCHIVE_PREFIX: &str = "hansard-archive.";
/// The streams that are not of one partition.
pub(crate) const OTHER_STREAMS: [&str; 6] =
    [REGISTRY_STREAM, RESTRICTED_STREAM, LAYOUT_STREAM, ARCHIVE_STREAM, erasures::STREAM, logs::STREAM];
/// The version of the streams' layout; streams with another version are rejected.
const FORM: &str = "1";
const KEY_RECORD: &str = "hansard_record";
const KEY_PARTITIONS: &str = "hansard_partitions";
const KEY_FORM: &str = "hansard_form";
/// "stream name already in use with a different configuration".
const STREAM_NAME_IN_USE: u64 = 10_058;
/// "stream not found".
const STREAM_NOT_FOUND: u64 = 10_059;

pub(crate) fn stream_name(partition: Partition) -> String {
    format!("HANSARD_{partition}")
}

pub(crate) fn subject(partition: Partition, key: &ConversationKey) -> String {
    format!("hansard.{partition}.{}.{}", key.tenant, key.conversation)
}

/// The subjects of a conversation in all partitions.
pub(crate) fn subject_in_any_partition(key: &ConversationKey) -> String {
    format!("hansard.*.{}.{}", key.tenant, key.conversation)
}

/// The partition of a subject of commits or parts; `None`: another subject.
pub(crate) fn partition_of(subject: &str) -> Option<Partition> {
    let partition = subject.split('.').nth(1)?;
    partition.parse().ok().map(Partition)
}

/// The conversation of a subject; `None`: not a conversation's subject.
pub(crate) fn key_of(subject: &str) -> Option<ConversationKey> {
    let mut tokens = subject.split('.');
    let mut next = || tokens.next();
    match (next()?, next()?, next()?, next()?, next()) {
        ("hansard", _, tenant, conversation, None) => key(tenant, conversation),
        _ => None,
    }
}

fn key(tenant: &str, conversation: &str) -> Option<ConversationKey> {
    Some(ConversationKey {
        tenant: TenantId::parse(tenant).ok()?,
        conversation: ConversationId::parse(conversation).ok()?,
    })
}

pub(crate) fn parts_stream_name(partition: Partition) -> String {
    format!("HANSARD_PARTS_{partition}")
}

pub(crate) fn parts_subject(partition: Partition, key: &ConversationKey, run: RunId) -> String {
    format!("{}.{}", parts_root(partition, key), run.0.simple())
}

/// The subjects of the parts of a run in all partitions.
pub(crate) fn parts_subject_in_any_partition(key: &ConversationKey, run: RunId) -> String {
    format!("{}.{}", parts_root("*", key), run.0.simple())
}

/// The subjects of the parts of all runs of a conversation.
pub(crate) fn all_parts_subjects(partition: Partition, key: &ConversationKey) -> String {
    format!("{}.*", parts_root(partition, key))
}

fn parts_root(partition: impl fmt::Display, key: &ConversationKey) -> String {
    let ConversationKey { tenant, conversation } = key;
    format!("hansard_parts.{partition}.{tenant}.{conversation}")
}

/// The subject to which stored messages are republished.
pub(crate) fn live_subject(subject: &str) -> String {
    format!("live.{subject}")
}

#[derive(Deserialize)]
struct Answer {
    #[serde(flatten)]
    info: Option<StreamInfo>,
    error: Option<ApiFailure>,
}

impl ApiAnswer for Answer {
    fn failure(&self) -> Option<&ApiFailure> {
        self.error.as_ref()
    }
}

/// The id and the number of partitions in the streams' metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) id: RecordId,
    pub(crate) partitions: u16,
}

/// What the streams of a record say.
#[derive(Debug)]
pub(crate) struct Topology {
    pub(crate) identity: Identity,
    pub(crate) layout: StoredLayout,
    /// The configurations of the partitions' streams and of the registry's.
    pub(crate) streams: Vec<Config>,
    /// The time of the server.
    pub(crate) time: known_time::Answer,
}

/// Creates the missing streams, with the replicas and the placement of partition 0 if that exists.
pub(crate) async fn create(
    connection: &Connection,
    config: &RecordConfig,
    deadline: Instant,
) -> Result<(), RecordError> {
    let first = stream_name(Partition(0));
    let own = Identity { id: RecordId(rand::random()), partitions: config.partitions };
    let info = ensure(connection, commits(Partition(0), own, connection, config), deadline).await?;
    let identity = identity_of(&first, &info.config)?;
    let layout = StoredLayout::read(connection, identity.partitions, deadline).await?;
    let partitions = layout.layout.partitions();
    check_partitions(&layout, identity, config)?;
    let config = &config_like(&info.config, config);
    let mut streams = vec![info.config];
    for partition in (1..partitions).map(Partition) {
        let stream = commits(partition, identity, connection, config);
        streams.push(ensure(connection, stream, deadline).await?.config);
    }
    if batches::allowed_by(connection) {
        batches::allow(connection, streams, deadline).await;
    }
    layout::widen_subjects(connection, deadline).await?;
    let registry = stream_config::registry(identity, config);
    ensure(connection, registry, deadline).await?;
    let parts = (0..partitions).map(Partition).map(|partition| stream_config::parts(partition, identity, config));
    let others = [stream_config::restricted(identity, config)]
        .into_iter()
        .chain(parts)
        .chain([stream_config::archive(identity, config), stream_config::erasures(identity, config)]);
    for stream in others {
        ensure_of_record(connection, stream, identity, deadline).await?;
    }
    logs::create(connection, stream_config::logs(identity, config), deadline).await
}

/// The configuration with the replicas and the placement of an existing stream: a process that adds a stream may have another
/// configuration than the one that created the record.
pub(crate) fn config_like(stream: &Config, config: &RecordConfig) -> RecordConfig {
    let placement = stream.placement.as_ref();
    RecordConfig {
        replicas: stream.num_replicas,
        placement_tags: placement.map_or_else(Vec::new, |placement| placement.tags.clone()),
        ..config.clone()
    }
}

/// The stream of a partition's commits, which accepts batches if the server does.
fn commits(partition: Partition, identity: Identity, connection: &Connection, config: &RecordConfig) -> Config {
    Config {
        allow_atomic_publish: batches::allowed_by(connection),
        ..stream_config::partition(partition, identity, config)
    }
}

/// Creates the streams of partitions, unless they exist.
pub(crate) async fn create_partitions(
    connection: &Connection,
    partitions: Range<u16>,
    identity: Identity,
    config: &RecordConfig,
) -> Result<(), RecordError> {
    for partition in partitions.map(Partition) {
        for stream in
            [commits(partition, identity, connection, config), stream_config::parts(partition, identity, config)]
        {
            let deadline = Instant::now() + config.request_timeout();
            ensure_of_record(connection, stream, identity, deadline).await?;
        }
    }
    Ok(())
}

/// Creates a stream unless it exists, and checks that it belongs to the record.
pub(crate) async fn ensure_of_record(
    connection: &Connection,
    config: Config,
    identity: Identity,
    deadline: Instant,
) -> Result<(), RecordError> {
    let info = ensure(connection, config, deadline).await?;
    check_identity(&info.config, identity)
}

/// Creates the restricted bucket of a record that has none, with the replicas and the placement of the registry.
pub(crate) async fn ensure_restricted(
    connection: &Connection,
    identity: Identity,
    config: &RecordConfig,
    deadline: Instant,
) -> Result<(), Unavailable> {
    let registry = info(connection, REGISTRY_STREAM, deadline)
        .await?
        .ok_or(Unavailable::new("the registry's stream does not exist"))?;
    let config = config_like(&registry.config, config);
    let stream = stream_config::restricted(identity, &config);
    let created = ensure_of_record(connection, stream, identity, deadline).await;
    created.map_err(|_| Unavailable::new("the restricted bucket cannot be created"))
}

/// The identity of the record, by its first stream.
pub(crate) async fn identity(connection: &Connection, deadline: Instant) -> Result<Identity, RecordError> {
    let first = stream_name(Partition(0));
    let info = existing(connection, &first, deadline).await?;
    identity_of(&first, &info.config)
}

/// Checks that all streams exist and belong to the same record.
pub(crate) async fn check(
    connection: &Connection,
    config: &RecordConfig,
    deadline: Instant,
) -> Result<Topology, RecordError> {
    let (first, asked_at) = (stream_name(Partition(0)), Instant::now());
    let info = existing(connection, &first, deadline).await?;
    let time = info.time(asked_at)?;
    let identity = identity_of(&first, &info.config)?;
    let layout = StoredLayout::read(connection, identity.partitions, deadline).await?;
    check_partitions(&layout, identity, config)?;
    let mut streams = vec![info.config];
    let others = (1..layout.layout.partitions()).map(|number| stream_name(Partition(number)));
    for stream in others.chain([REGISTRY_STREAM.to_owned()]) {
        let info = existing(connection, &stream, deadline).await?;
        check_identity(&info.config, identity)?;
        streams.push(info.config);
    }
    // A catalogue of another record names segments of other commits.
    if let Some(catalogue) = self::info(connection, ARCHIVE_STREAM, deadline).await? {
        check_identity(&catalogue.config, identity)?;
    }
    Ok(Topology { identity, layout, streams, time })
}

/// The last sequence of a stream, from its leader; 0: it is empty, or does not exist.
pub(crate) async fn last_sequence(
    connection: &Connection,
    stream: &str,
    deadline: Instant,
) -> Result<Sequence, Unavailable> {
    let info = info(connection, stream, deadline).await?;
    Ok(info.map_or(Sequence(0), |info| info.state.bounds().last))
}

/// Configuration and state of a stream from its leader; `None`: the stream does not exist.
pub(crate) async fn info(
    connection: &Connection,
    stream: &str,
    deadline: Instant,
) -> Result<Option<StreamInfo>, Unavailable> {
    let request = format!("STREAM.INFO.{stream}");
    let answer: Answer = connection.api_read(&request, &json!({}), deadline).await?;
    match (answer.info, answer.error) {
        (Some(info), None) => Ok(Some(info)),
        (_, Some(failure)) if failure.err_code == STREAM_NOT_FOUND => Ok(None),
        _ => Err(Unavailable::new("the state of a stream cannot be read")),
    }
}

async fn existing(connection: &Connection, stream: &str, deadline: Instant) -> Result<StreamInfo, RecordError> {
    info(connection, stream, deadline).await?.ok_or_else(|| RecordError::Missing { stream: stream.to_owned() })
}

/// Creates a stream unless it exists.
async fn ensure(connection: &Connection, config: Config, deadline: Instant) -> Result<StreamInfo, RecordError> {
    if let Some(info) = info(connection, &config.name, deadline).await? {
        return Ok(info);
    }
    let request = format!("STREAM.CREATE.{}", config.name);
    let answer: Answer = connection.api(&request, &config, deadline).await?;
    match (answer.info, answer.error) {
        (Some(info), None) => Ok(info),
        (_, Some(failure)) if failure.err_code == STREAM_NAME_IN_USE => {
            existing(connection, &config.name, deadline).await
        }
        (_, Some(failure)) if failure.err_code == NO_LEADER => {
            Err(Unavailable::new("the servers are electing a leader").into())
        }
        (_, Some(failure)) => Err(RecordError::Refused {
            what: format!("the creation of the stream {}", config.name),
            reason: failure.description,
        }),
        (None, None) => Err(Unavailable::new("a stream cannot be created").into()),
    }
}

fn identity_of(stream: &str, config: &Config) -> Result<Identity, RecordError> {
    let foreign = |problem: &str| RecordError::Foreign { stream: stream.to_owned(), problem: problem.to_owned() };
    let metadata = |key: &str| config.metadata.get(key).map(String::as_str);
    if metadata(KEY_FORM) != Some(FORM) {
        return Err(foreign("belongs to another program or to another version"));
    }
    let mut id = [0; 8];
    hex::decode_to_slice(metadata(KEY_RECORD).unwrap_or_default(), &mut id)
        .map_err(|_| foreign("has no record id in its metadata"))?;
    let partitions = metadata(KEY_PARTITIONS)
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| foreign("has no number of partitions in its metadata"))?;
    Ok(Identity { id: RecordId(id), partitions })
}

fn check_identity(config: &Config, identity: Identity) -> Result<(), RecordError> {
    let stream = config.name.clone();
    if identity_of(&stream, config)? == identity {
        return Ok(());
    }
    let first = stream_name(Partition(0));
    let problem = format!("belongs to another record than {first}");
    Err(RecordError::Foreign { stream, problem })
}

fn check_partitions(layout: &StoredLayout, identity: Identity, config: &RecordConfig) -> Result<(), RecordError> {
    let recorded = layout.layout.partitions();
    if [identity.partitions, recorded].contains(&config.partitions) {
        return Ok(());
    }
    Err(RecordError::PartitionMismatch { configured: config.partitions, recorded })
}
