//! The names and the shape of the streams, and how a record comes into being.
//!
//! The first stream decides: whoever makes it has made the record, with its id and its number of partitions. All others
//! take both from it, so any number of processes may create at once.

use std::collections::HashMap;
use std::time::Duration;

use async_nats::jetstream::stream::{
    Config, DiscardPolicy, Republish, RetentionPolicy, StorageType,
};
use domain::{ConversationId, ConversationKey, Partition, TenantId};
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;
use wire::token::RecordId;

use crate::config::{DUPLICATE_WINDOW, RecordConfig};
use crate::connection::Connection;
use crate::error::{RecordError, Unavailable};

/// The stream of the registry's bucket, and the subject before its keys.
pub(crate) const REGISTRY_STREAM: &str = "KV_HANSARD_registry";
pub(crate) const REGISTRY_PREFIX: &str = "$KV.HANSARD_registry.";
/// How long the bucket knows the ids of its messages.
const REGISTRY_DUPLICATE_WINDOW: Duration = Duration::from_mins(2);
/// The form of everything in the streams; another one is of another program.
const FORM: &str = "1";
const KEY_RECORD: &str = "hansard_record";
const KEY_PARTITIONS: &str = "hansard_partitions";
const KEY_FORM: &str = "hansard_form";
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
    Some(ConversationKey {
        tenant: TenantId::parse(tenant).ok()?,
        conversation: ConversationId::parse(conversation).ok()?,
    })
}

/// Where what is stored under a subject is published again.
pub(crate) fn live_subject(subject: &str) -> String {
    format!("live.{subject}")
}

/// A stream as its leader describes it.
#[derive(Debug, Deserialize)]
pub(crate) struct StreamInfo {
    pub(crate) config: Config,
    pub(crate) state: StreamState,
}

/// What a stream holds.
#[derive(Debug, Deserialize)]
pub(crate) struct StreamState {
    pub(crate) messages: u64,
    pub(crate) first_seq: u64,
    pub(crate) last_seq: u64,
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
        partition_config(Partition(0), own, config),
        deadline,
    )
    .await?;
    let identity = identity_of(&first, &info.config)?;
    check_partitions(identity, config)?;
    for partition in 1..config.partitions {
        let stream = partition_config(Partition(partition), identity, config);
        make(connection, stream, deadline).await?;
    }
    make(connection, registry_config(identity, config), deadline).await?;
    Ok(())
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
        if identity_of(&stream, &info.config)? != identity {
            let problem = format!("belongs to another record than {first}");
            return Err(RecordError::Foreign { stream, problem });
        }
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
    let subject = format!("$JS.API.STREAM.INFO.{stream}");
    let answer: Answer = connection.api(subject, &json!({}), deadline).await?;
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
    let subject = format!("$JS.API.STREAM.CREATE.{}", config.name);
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

fn partition_config(partition: Partition, identity: Identity, config: &RecordConfig) -> Config {
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

/// A key-value bucket, as the server's own tools know one.
fn registry_config(identity: Identity, config: &RecordConfig) -> Config {
    Config {
        name: REGISTRY_STREAM.to_owned(),
        description: Some("The registry: tenants, agents, keys and tokens".to_owned()),
        subjects: vec![format!("{REGISTRY_PREFIX}>")],
        max_messages_per_subject: 1,
        allow_rollup: true,
        deny_delete: true,
        duplicate_window: REGISTRY_DUPLICATE_WINDOW,
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

fn check_partitions(identity: Identity, config: &RecordConfig) -> Result<(), RecordError> {
    if identity.partitions == config.partitions {
        return Ok(());
    }
    Err(RecordError::PartitionMismatch {
        configured: config.partitions,
        recorded: identity.partitions,
    })
}
