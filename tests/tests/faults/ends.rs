//! Ends of streams, read while one replica lags behind the leader.
//!
//! The server that leads the cluster's metadata leads none of the streams that are read. Messages between their leader and
//! the third server are delayed. So a consumer that is placed on the third server starts at once, and its replica lacks the
//! latest messages: it reports none pending. Where a consumer is placed is random: each end is read several times.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::{AgentId, ConversationId, ConversationKey, TenantId, Timestamp, Version};
use event_log::{ArchiveEntry, Record, RecordConfig, Registry};
use futures::TryStreamExt as _;
use futures::future::join_all;
use tests::proxy::Weather;
use tests::settings;
use uuid::Uuid;

use crate::ground::{Ground, TENANT};
use crate::three::{SERVERS, Three, lead, metadata_leader};

/// How long each message between the leader and the lagging replica is delayed.
const DELAY: Duration = Duration::from_millis(300);
/// How often each end is read at the same time. One read in three is of the lagging replica.
const READS: usize = 12;
const CONVERSATION: &str = "ends";

/// Checks every read that must not end before the leader's last message.
pub(crate) async fn check(three: &Three, ground: &Ground) {
    let metadata = metadata_leader(ground).await;
    let (leader, lagging) = ((metadata + 1) % SERVERS, (metadata + 2) % SERVERS);
    let record = Record::open(RecordConfig {
        nats_url: three.url_of(metadata),
        request_timeout_ms: 10_000,
        ..settings::record(&ground.stack.servers)
    });
    let record = record.await.expect("a record");
    record.ensure_archive().await.expect("a catalogue");
    ground.agent.create(CONVERSATION).await;
    let partition = format!("HANSARD_{}", record.partition_of(&key()).0);
    for stream in ["KV_HANSARD_registry", "HANSARD_ARCHIVE", &partition] {
        lead(ground, three, stream, leader).await;
    }
    three.between([leader, lagging], Weather::Slow(DELAY));
    tokio::join!(
        registry(&record),
        catalogue(&record),
        last_commits(ground, &record),
    );
    three.between([leader, lagging], Weather::Fair);
}

fn key() -> ConversationKey {
    ConversationKey {
        tenant: TenantId::parse(TENANT).expect("an id"),
        conversation: ConversationId::parse(CONVERSATION).expect("an id"),
    }
}

/// A registry that has just been opened lists the agent that has just been made.
async fn registry(record: &Record) {
    let tenant = TenantId::parse(TENANT).expect("an id");
    let agent = AgentId::parse("made-last").expect("an id");
    let open = Registry::open(record).await.expect("a registry");
    let made = open.create_agent(&tenant, &agent, "", Timestamp(1)).await;
    made.expect("an agent");
    let opened = join_all((0..READS).map(|_| Registry::open(record))).await;
    for registry in opened {
        let agents = registry.expect("a registry").list_agents(&tenant);
        assert!(agents.iter().any(|agent| agent.agent_id == "made-last"));
    }
}

/// The archive's catalogue has the entry that has just been put.
async fn catalogue(record: &Record) {
    let entry = ArchiveEntry {
        segment: Uuid::now_v7(),
        partition: 0,
        store: "file:///nowhere".to_owned(),
        sealed: None,
        loose: Vec::new(),
    };
    let put = record.put_archive_entry(&entry, None).await;
    let put = put.expect("an entry");
    let reads = join_all((0..READS).map(|_| record.archive_entries(None))).await;
    for entries in reads {
        assert!(entries.expect("entries").contains(&put), "{put:?}");
    }
}

/// The last commits of a partition have the one that was just appended.
async fn last_commits(ground: &Ground, record: &Record) {
    let request = ground.agent.update_request(CONVERSATION, &["title"]);
    let committed = ground.agent.try_update(request).await.expect("a commit");
    let partition = record.partition_of(&key());
    let read = async || {
        let last = record.standings(partition).await.expect("a partition");
        let last: BTreeMap<_, _> = last.try_collect().await.expect("last commits");
        let head = last[&key()].open_head().expect("a head");
        assert_eq!(head.version, Version(committed.version));
    };
    join_all((0..READS).map(|_| read())).await;
}
