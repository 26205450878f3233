//! The names and the shape of the streams, and how a record comes into being.
//!
//! The first stream decides: whoever makes it has made the record, with its id and its number of partitions. All others
//! take both from it, so any number of processes may create at once.
//!
//! The streams of parts are no part of the record: a record without them, made before there were any, is whole and can
//! be opened; its parts are unavailable until a writer has started, which makes them. Nor is the stream of logged calls.
//! And one without the catalogue of an archive is whole: nothing of it is elsewhere.

pub(crate) mod erasures;
pub(crate) mod logs;
mod shape;
mod stream_info;

use std::time::Duration;

use async_nats::jetstream::stream::Config;
use domain::{ConversationId, ConversationKey, Partition, RunId, TenantId};
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;
use wire::token::RecordId;

use crate::config::RecordConfig;
use crate::connection::Connection;
use crate::error::{RecordError, Unavailable};

pub use stream_info::PartitionBounds;
pub(crate) use stream_info::StreamInfo;

/// The stream of the registry's bucket, and the subject before its keys.
pub(crate) const REGISTRY_STREAM: &str = "KV_HANSARD_registry";
pub(crate) const REGISTRY_PREFIX: &str = "$KV.HANSARD_registry.";
/// The stream of the bucket that only writers and operators may read, and the subject before its keys.
pub(crate) const RESTRICTED_STREAM: &str = "KV_HANSARD_restricted";
pub(crate) const RESTRICTED_PREFIX: &str = "$KV.HANSARD_restricted.";
/// The stream of the archive's catalogue, and the subject before its entries.
pub(crate) const ARCHIVE_STREAM: &str = "HANSARD_ARCHIVE";
pub(crate) const ARCHIVE_PREFIX: &str = "hansard-archive.";
/// The form of everything in the streams; another one is of another program.
const FORM: &str = "1";
const KEY_RECORD: &str = "hansard_record";
const KEY_PARTITIONS: &str = "hansard_partitions";
const KEY_FORM: &str = "hansard_form";
/// How long one look at a stream may take until it is made again: the answer to the first request that an account makes of
/// another over a server can be lost between servers.
const LOOK_TIMEOUT: Duration = Duration::from_secs(1);
/// "stream name already in use with a different configuration".
const STREAM_NAME_IN_USE: u64 = 10_058;
/// "stream not found".
const STREAM_NOT_FOUND: u64 = 10_059;

/// The stream that holds a partition.
pub(crate) fn stream_name(partition: Partition) -> String {
    format!("HANSARD_{partition}")
}

/// The subject of a conversation.
pub(crate) fn subject(partition: Partition, key: &ConversationKey) -> String {
    format!("hansard.{partition}.{}.{}", key.tenant, key.conversation)
}

/// The conversation of a subject; `None`: it is no conversation's.
pub(crate) fn key_of(subject: &str) -> Option<ConversationKey> {
    let mut tokens = subject.split('.');
    let (root, _, tenant, conversation) = (
        tokens.next()?,
        tokens.next()?,
        tokens.next()?,
        tokens.next()?,
    );
    if root != "hansard" || tokens.next().is_some() {
        return None;
    }
    key(tenant, conversation)
}

fn key(tenant: &str, conversation: &str) -> Option<ConversationKey> {
    Some(ConversationKey {
        tenant: TenantId::parse(tenant).ok()?,
        conversation: ConversationId::parse(conversation).ok()?,
    })
}

/// The stream that holds the parts of a partition's runs.
pub(crate) fn parts_stream_name(partition: Partition) -> String {
    format!("HANSARD_PARTS_{partition}")
}

/// The subject of a run's parts.
pub(crate) fn parts_subject(partition: Partition, key: &ConversationKey, run: RunId) -> String {
    format!("{}.{}", parts_root(partition, key), run.0.simple())
}

/// The subjects of the parts of all runs of a conversation.
pub(crate) fn all_parts_subjects(partition: Partition, key: &ConversationKey) -> String {
    format!("{}.*", parts_root(partition, key))
}

fn parts_root(partition: Partition, key: &ConversationKey) -> String {
    let ConversationKey {
        tenant,
        conversation,
    } = key;
    format!("hansard_parts.{partition}.{tenant}.{conversation}")
}

/// Where what is stored under a subject is published again.
pub(crate) fn live_subject(subject: &str) -> String {
    format!("live.{subject}")
}

#[derive(Deserialize)]
struct Answer {
    #[serde(flatten)]
    info: Option<StreamInfo>,
    error: Option<Failure>,
}

#[derive(Deserialize)]
struct Failure {
    #[serde(default)]
    err_code: u64,
    #[serde(default)]
    description: String,
}

/// What a record's streams say of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) id: RecordId,
    pub(crate) partitions: u16,
}

/// Makes the streams that are missing.
pub(crate) async fn create(
    connection: &Connection,
    config: &RecordConfig,
    deadline: Instant,
) -> Result<(), RecordError> {
    let first = stream_name(Partition(0));
    let own = Identity {
        id: RecordId(rand::random()),
        partitions: config.partitions,
    };
    let info = make(
        connection,
        shape::partition(Partition(0), own, config),
        deadline,
    )
    .await?;
    let identity = identity_of(&first, &info.config)?;
    check_partitions(identity, config)?;
    for partition in 1..config.partitions {
        let stream = shape::partition(Partition(partition), identity, config);
        make(connection, stream, deadline).await?;
    }
    make(connection, shape::registry(identity, config), deadline).await?;
    create_restricted(connection, identity, config, deadline).await?;
    for partition in 0..config.partitions {
        let stream = shape::parts(Partition(partition), identity, config);
        let info = make(connection, stream, deadline).await?;
        check_identity(&info.config, identity)?;
    }
    create_archive(connection, identity, config, deadline).await?;
    create_erasures(connection, identity, config, deadline).await?;
    logs::create(connection, shape::logs(identity, config), deadline).await
}

/// Makes the restricted bucket, unless it is there.
pub(crate) async fn create_restricted(
    connection: &Connection,
    identity: Identity,
    config: &RecordConfig,
    deadline: Instant,
) -> Result<(), RecordError> {
    let stream = shape::restricted(identity, config);
    let info = make(connection, stream, deadline).await?;
    check_identity(&info.config, identity)
}

/// Makes the restricted bucket of a record that has none, on as many servers as the registry.
pub(crate) async fn ensure_restricted(
    connection: &Connection,
    identity: Identity,
    config: &RecordConfig,
    deadline: Instant,
) -> Result<(), Unavailable> {
    let registry = info(connection, REGISTRY_STREAM, deadline).await?;
    let registry = registry.ok_or(Unavailable::new("the registry is missing"))?;
    let config = RecordConfig {
        replicas: registry.config.num_replicas,
        ..config.clone()
    };
    let made = create_restricted(connection, identity, &config, deadline).await;
    made.map_err(|_| Unavailable::new("the restricted bucket cannot be made"))
}

/// Makes the stream of the archive's catalogue, unless it is there.
pub(crate) async fn create_archive(
    connection: &Connection,
    identity: Identity,
    config: &RecordConfig,
    deadline: Instant,
) -> Result<(), RecordError> {
    let info = make(connection, shape::archive(identity, config), deadline).await?;
    check_identity(&info.config, identity)
}

/// Makes the stream of erasures in progress, unless it is there.
pub(crate) async fn create_erasures(
    connection: &Connection,
    identity: Identity,
    config: &RecordConfig,
    deadline: Instant,
) -> Result<(), RecordError> {
    let info = make(connection, shape::erasures(identity, config), deadline).await?;
    check_identity(&info.config, identity)
}

/// Checks that the whole record is there, and that all of it is of one record.
pub(crate) async fn check(
    connection: &Connection,
    config: &RecordConfig,
    deadline: Instant,
) -> Result<(Identity, Vec<Config>), RecordError> {
    let first = stream_name(Partition(0));
    let info = existing(connection, &first, deadline).await?;
    let identity = identity_of(&first, &info.config)?;
    check_partitions(identity, config)?;
    let mut streams = vec![info.config];
    let others = (1..config.partitions).map(|partition| stream_name(Partition(partition)));
    for stream in others.chain([REGISTRY_STREAM.to_owned()]) {
        let info = existing(connection, &stream, deadline).await?;
        check_identity(&info.config, identity)?;
        streams.push(info.config);
    }
    Ok((identity, streams))
}

/// A stream as its leader describes it; `None`: there is none.
pub(crate) async fn info(
    connection: &Connection,
    stream: &str,
    deadline: Instant,
) -> Result<Option<StreamInfo>, Unavailable> {
    let subject = connection.api_subject(&format!("STREAM.INFO.{stream}"));
    let answer: Answer = loop {
        let attempt = deadline.min(Instant::now() + LOOK_TIMEOUT);
        match connection.api(subject.clone(), &json!({}), attempt).await {
            Err(_) if (attempt..deadline).contains(&Instant::now()) => {}
            outcome => break outcome?,
        }
    };
    match (answer.info, answer.error) {
        (Some(info), None) => Ok(Some(info)),
        (_, Some(failure)) if failure.err_code == STREAM_NOT_FOUND => Ok(None),
        _ => Err(Unavailable::new("a stream cannot be looked at")),
    }
}

async fn existing(
    connection: &Connection,
    stream: &str,
    deadline: Instant,
) -> Result<StreamInfo, RecordError> {
    info(connection, stream, deadline)
        .await?
        .ok_or_else(|| RecordError::Missing {
            stream: stream.to_owned(),
        })
}

/// Makes a stream, or takes the one that is there.
async fn make(
    connection: &Connection,
    config: Config,
    deadline: Instant,
) -> Result<StreamInfo, RecordError> {
    if let Some(info) = info(connection, &config.name, deadline).await? {
        return Ok(info);
    }
    let subject = connection.api_subject(&format!("STREAM.CREATE.{}", config.name));
    let answer: Answer = connection.api(subject, &config, deadline).await?;
    match (answer.info, answer.error) {
        (Some(info), None) => Ok(info),
        (_, Some(failure)) if failure.err_code == STREAM_NAME_IN_USE => {
            existing(connection, &config.name, deadline).await
        }
        (_, Some(failure)) => Err(RecordError::Refused {
            what: format!("to make the stream {}", config.name),
            reason: failure.description,
        }),
        (None, None) => Err(Unavailable::new("a stream cannot be made").into()),
    }
}

fn identity_of(stream: &str, config: &Config) -> Result<Identity, RecordError> {
    let foreign = |problem: &str| RecordError::Foreign {
        stream: stream.to_owned(),
        problem: problem.to_owned(),
    };
    let metadata = |key: &str| config.metadata.get(key).map(String::as_str);
    if metadata(KEY_FORM) != Some(FORM) {
        return Err(foreign(
            "is not of this program, or of another version of it",
        ));
    }
    let mut id = [0; 8];
    hex::decode_to_slice(metadata(KEY_RECORD).unwrap_or_default(), &mut id)
        .map_err(|_| foreign("does not say which record it belongs to"))?;
    let partitions = metadata(KEY_PARTITIONS)
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| foreign("does not say how many partitions its record has"))?;
    Ok(Identity {
        id: RecordId(id),
        partitions,
    })
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

fn check_partitions(identity: Identity, config: &RecordConfig) -> Result<(), RecordError> {
    if identity.partitions == config.partitions {
        return Ok(());
    }
    Err(RecordError::PartitionMismatch {
        configured: config.partitions,
        recorded: identity.partitions,
    })
}
