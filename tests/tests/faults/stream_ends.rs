//! The ends of streams, read while one replica lags behind the leader.
//!
//! The metadata leader leads none of the streams. Messages between the streams' leader and the third server are
//! delayed. So a consumer on the third server starts at once on a replica without the latest messages, and reports none
//! pending. The server of a consumer is random, so each end is read several times.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::{AgentId, ConversationId, ConversationKey, DisplayName, TenantId, Timestamp, Version};
use event_log::{ArchiveEntry, Record, RecordConfig};
use futures::TryStreamExt as _;
use futures::future::join_all;
use registry::Registry;
use tests::eventually::eventually;
use tests::proxy::Network;
use tests::settings;
use uuid::Uuid;

use crate::fixture::{Fixture, TENANT};
use crate::three_servers::{SERVERS, ThreeServers, lead, leads, metadata_leader};

/// The delay of each message between the leader and the lagging replica.
const DELAY: Duration = Duration::from_millis(300);
/// The maximum number of rounds. A round with a change of leader proves nothing.
const ROUNDS_MAX: usize = 5;
/// How often each end is read concurrently. One read in three uses the lagging replica.
const READS: usize = 12;
const CONVERSATION: &str = "ends";

/// Checks every read that must reach the leader's last message.
pub(crate) async fn check(three: &ThreeServers, fixture: &Fixture) {
    let metadata = metadata_leader(fixture).await;
    let (leader, lagging) = ((metadata + 1) % SERVERS, (metadata + 2) % SERVERS);
    let record = Record::open(RecordConfig {
        nats_url: three.url_of(metadata),
        request_timeout_ms: 10_000,
        ..settings::record(&fixture.stack.servers)
    })
    .await
    .expect("a record");
    record.ensure_archive().await.expect("a catalogue");
    fixture.agent.create(CONVERSATION).await;
    let partition = record.partition_of(&key()).await.expect("a partition");
    let partition = format!("HANSARD_{partition}");
    let streams = ["KV_HANSARD_registry", "HANSARD_ARCHIVE", &partition];
    for round in 1..=ROUNDS_MAX {
        for stream in streams {
            lead(fixture, three, stream, leader).await;
        }
        three.set_between([leader, lagging], Network::Slow(DELAY));
        let read = tokio::try_join!(registry(&record, round), catalogue(&record), last_commits(fixture, &record),);
        let is_led = leads(fixture, &streams, leader).await;
        three.set_between([leader, lagging], Network::Normal);
        match read {
            Ok(_) => return,
            // On a busy machine, a former leader answers until it knows the new one.
            Err(_) if !is_led => {}
            Err(wrong) => panic!("{wrong}"),
        }
    }
    panic!("the leaders changed in every round");
}

fn key() -> ConversationKey {
    ConversationKey {
        tenant: TenantId::parse(TENANT).expect("an id"),
        conversation: ConversationId::parse(CONVERSATION).expect("an id"),
    }
}

/// A registry that is opened now lists the newest agent.
async fn registry(record: &Record, round: usize) -> Result<(), String> {
    let tenant = TenantId::parse(TENANT).expect("an id");
    let id = format!("made-{round}");
    let agent = AgentId::parse(&id).expect("an id");
    let open = retry_until_answered(async || Registry::open(record).await).await;
    open.create_agent(&tenant, &agent, &DisplayName::parse("").unwrap(), Timestamp(1))
        .await
        .map_err(|error| error.to_string())?;
    let opening = (0..READS).map(|_| retry_until_answered(async || Registry::open(record).await));
    let lists = |registry: &Registry| {
        let agents = registry.list_agents(&tenant);
        agents.iter().any(|agent| agent.agent_id == id)
    };
    let is_whole = join_all(opening).await.iter().all(lists);
    is_whole.then_some(()).ok_or(format!("no agent {id}"))
}

/// The archive's catalogue has the newest entry.
async fn catalogue(record: &Record) -> Result<(), String> {
    let entry = ArchiveEntry {
        segment: Uuid::now_v7(),
        partition: 0,
        store: "file:///nowhere".to_owned(),
        sealed: None,
        loose: Vec::new(),
    };
    let put = record.put_archive_entry(&entry, None).await.map_err(|error| error.to_string())?;
    let reading = (0..READS).map(|_| retry_until_answered(async || record.archive_entries(None).await));
    let mut read = join_all(reading).await.into_iter();
    let is_whole = read.all(|entries| entries.contains(&put));
    is_whole.then_some(()).ok_or("no entry".to_owned())
}

/// The last commits of a partition include the newest one.
async fn last_commits(fixture: &Fixture, record: &Record) -> Result<(), String> {
    let request = fixture.agent.update_request(CONVERSATION, &["title"]);
    let committed = fixture.agent.try_update(request).await;
    let expected = Version(committed.map_err(|status| status.to_string())?.version);
    let partition = record.partition_of(&key()).await.map_err(|error| error.to_string())?;
    let read = async || record.last_commits(partition).try_collect::<BTreeMap<_, _>>().await;
    for last in join_all((0..READS).map(|_| retry_until_answered(read))).await {
        let head = last[&key()].open_head().expect("a head");
        if head.version != expected {
            return Err(format!("{:?}, not {expected:?}", head.version));
        }
    }
    Ok(())
}

/// The answer of a read, with retries on errors: an error is no end.
async fn retry_until_answered<T, E>(read: impl AsyncFn() -> Result<T, E>) -> T {
    eventually("an answer", async || read().await.ok()).await
}
