//! Three servers, three replicas.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use devstack::NatsServer;
use devstack::test::files_with;
use domain::{LogId, Partition, RunId, Sequence};
use event_log::{AppendOutcome, BucketPut, GrowthError, Record, RecordConfig, TailBounds};
use uuid::Uuid;

use crate::group_commits::batches;
use crate::support::{Writer, all_messages, config, jetstream, until};

pub(crate) struct Cluster {
    pub(crate) servers: [NatsServer; 3],
    pub(crate) record: Record,
}

impl Cluster {
    /// The configuration of a record in the cluster.
    pub(crate) fn config(servers: &[NatsServer], partitions: u16) -> RecordConfig {
        let urls: Vec<_> = servers.iter().map(NatsServer::url).collect();
        RecordConfig { partitions, replicas: 3, request_timeout_ms: 10_000, ..config(&urls.join(",")) }
    }
}

/// Three servers with a record of one partition.
pub(crate) async fn cluster() -> Cluster {
    cluster_of(1).await
}

/// Three servers with a record.
pub(crate) async fn cluster_of(partitions: u16) -> Cluster {
    let servers = three_servers().await;
    let config = || Cluster::config(&servers, partitions);
    let record = created(config).await;
    Cluster { servers, record }
}

/// Creates a record when the servers have formed a cluster.
async fn created(config: impl Fn() -> RecordConfig) -> Record {
    until("the cluster", || async { Box::pin(Record::create(config())).await.is_ok() }).await;
    Record::open(config()).await.unwrap()
}

/// The configuration of a stream.
async fn stream_config(server: &NatsServer, name: &str) -> async_nats::jetstream::stream::Config {
    let stream = jetstream(server).await.get_stream(name).await.unwrap();
    stream.cached_info().config.clone()
}

async fn delete_stream(server: &NatsServer, name: &str) {
    jetstream(server).await.delete_stream(name).await.unwrap();
}

/// Three servers, `n0` to `n2`, with the tags `rack:0` to `rack:2`.
async fn three_servers() -> [NatsServer; 3] {
    // Reserved, so that they stay free while their servers are down.
    let first_port = devstack::port::reserve(3).unwrap();
    let ports: Vec<_> = (first_port..first_port + 3).collect();
    let routes: Vec<_> = ports.iter().map(|port| format!("\"nats://127.0.0.1:{port}\"")).collect();
    let start = |index: usize| {
        let extra = format!(
            "server_tags: [\"rack:{index}\"]\ncluster {{ name: test, listen: \"127.0.0.1:{}\", routes: [{}] }}",
            ports[index],
            routes.join(",")
        );
        devstack::test::nats_with(move |config| {
            config.server_name = format!("n{index}");
            config.extra = extra;
        })
    };
    let (first, second, third) = tokio::join!(start(0), start(1), start(2));
    [first, second, third]
}

#[tokio::test]
async fn three_replicas_store_every_commit_once_despite_kills() {
    let Cluster { mut servers, record } = Box::pin(cluster()).await;
    let mut writer = Writer::of("c");
    let mut retries = Vec::new();
    for number in 0..120 {
        // Two servers are a quorum while the third is down.
        if number % 40 == 10 {
            servers[number / 40].kill();
        }
        if number % 40 == 30 {
            servers[number / 40].restart().await.unwrap();
        }
        let text = number.to_string();
        retries.push(writer.append_until_known(&record, &text).await);
    }
    for (append, expected) in retries {
        let outcome = record.append(&writer.key, append).await;
        match outcome {
            Ok(AppendOutcome::Committed { sequence } | AppendOutcome::Duplicate { sequence }) => {
                assert_eq!(sequence, expected);
            }
            other => panic!("{other:?}"),
        }
    }
    let whole = || async {
        let tail = record.tail(&writer.key, Sequence(0), TailBounds::default()).await;
        tail.is_ok_and(|tail| tail.commits.len() == 120)
    };
    until("every commit, once", whole).await;
}

#[tokio::test]
async fn one_id_in_two_conversations_is_two_commits() {
    let Cluster { servers: _servers, record } = Box::pin(cluster()).await;
    let id = domain::CommitId(Uuid::now_v7());
    let mut appends = Vec::new();
    for conversation in ["one", "other", "third"] {
        let mut writer = Writer::of(conversation);
        let sealed = writer.seal_as(id, conversation);
        let outcome = record.append(&writer.key, sealed.append.clone()).await;
        let append = sealed.append.clone();
        let at = writer.advance(sealed, outcome);
        appends.push((writer, append, at));
    }
    for (writer, append, at) in appends {
        let outcome = record.append(&writer.key, append).await;
        assert_eq!(outcome, Ok(AppendOutcome::Committed { sequence: at }));
        let last = record.last_from_leader(&writer.key).await.unwrap().unwrap();
        assert_eq!(last.open_head().unwrap(), writer.head.unwrap().0);
    }
}

/// Batches on three replicas, while the leader is killed: every commit is stored once.
#[tokio::test(flavor = "multi_thread")]
async fn batches_on_three_replicas_are_stored_once_despite_kills() {
    /// More than are published alone, and enough others for a batch.
    const CONVERSATIONS: usize = 300;
    const ROUNDS: usize = 12;
    let Cluster { mut servers, record } = Box::pin(cluster()).await;
    let mut writers: Vec<_> = (0..CONVERSATIONS).map(|n| Writer::of(&format!("c{n}"))).collect();
    for round in 0..ROUNDS {
        let text = round.to_string();
        let appending = writers.iter_mut().map(|writer| writer.append_until_known(&record, &text));
        let appending = futures::future::join_all(appending);
        // Each server in turn, so that a leader is among them; two are a quorum.
        let server = &mut servers[round / 4];
        let killing = async {
            match round % 4 {
                1 => server.kill(),
                3 => server.restart().await.unwrap(),
                _ => {}
            }
        };
        tokio::join!(appending, killing);
    }
    for writer in &writers {
        let whole = || async {
            let bounds = TailBounds::default();
            let tail = record.tail(&writer.key, Sequence(0), bounds).await;
            tail.is_ok_and(|tail| tail.commits.len() == ROUNDS)
        };
        until("every commit, once", whole).await;
        let last = record.last_from_leader(&writer.key).await.unwrap().unwrap();
        assert_eq!(last.open_head().unwrap(), writer.head.clone().unwrap().0);
    }
    assert!(!batches(&servers[0]).await.is_empty(), "no batch");
}

/// The messages of a batch that loses its leader.
const STAGED: usize = 40;

/// The leader is killed between the messages of a batch and its last one: nothing of the batch is stored.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_whose_leader_is_killed_before_its_end_is_not_stored() {
    let Cluster { mut servers, record } = Box::pin(cluster()).await;
    let staged = Mutex::new(None);
    // An election or an unknown subject ends an attempt; the next has an id of its own.
    until("a staged batch", || async {
        let batch = Uuid::now_v7().to_string();
        *staged.lock().unwrap() = stage(&servers, &batch).await;
        staged.lock().unwrap().is_some()
    })
    .await;
    let (leader, batch) = staged.into_inner().unwrap().unwrap();
    servers[leader].kill();
    let survivor = servers[(leader + 1) % 3].url();
    let client = async_nats::connect(&survivor).await.unwrap();
    let rejected = || async {
        let reply = send(&client, &batch, STAGED).await;
        reply.is_ok_and(|reply| String::from_utf8_lossy(&reply.payload).contains("\"error\""))
    };
    until("the answer of another leader", rejected).await;
    let mut writers: Vec<_> = (0..STAGED).map(|n| Writer::of(&format!("c{n}"))).collect();
    let appending = writers.iter_mut().map(|writer| writer.append_until_known(&record, "x"));
    futures::future::join_all(appending).await;
    assert_eq!(all_messages(&survivor).await.len(), STAGED);
    for writer in &writers {
        let last = record.last_from_leader(&writer.key).await.unwrap().unwrap();
        assert_eq!(last.open_head().unwrap(), writer.head.clone().unwrap().0);
    }
}

/// Sends all messages of a batch except the last to the leader of the only partition.
///
/// Returns the leader's index and the batch, if the same leader has staged all of them.
async fn stage(servers: &[NatsServer], batch: &str) -> Option<(usize, String)> {
    let leader = leader(&servers[0]).await?;
    // The leader itself knows its subjects; other servers learn them later.
    let client = async_nats::connect(servers[leader].url()).await.ok()?;
    for number in 1..STAGED {
        // The leader answers a message that it has staged without a text.
        let reply = send(&client, batch, number).await.ok()?;
        reply.payload.is_empty().then_some(())?;
    }
    let is_same = self::leader(&servers[0]).await? == leader;
    is_same.then(|| (leader, batch.to_owned()))
}

/// The index of the server that leads the only partition.
pub(crate) async fn leader(server: &NatsServer) -> Option<usize> {
    let stream = jetstream(server).await.get_stream("HANSARD_0").await.ok()?;
    let cluster = stream.cached_info().cluster.as_ref()?;
    let leader = cluster.leader.as_ref()?;
    leader.strip_prefix('n')?.parse().ok()
}

/// Sends a message of a batch, each on a subject of its own.
async fn send(
    client: &async_nats::Client,
    batch: &str,
    number: usize,
) -> Result<async_nats::Message, async_nats::RequestError> {
    let mut headers = async_nats::HeaderMap::new();
    headers.insert("Nats-Batch-Id", batch);
    headers.insert("Nats-Batch-Sequence", number.to_string().as_str());
    if number == STAGED {
        headers.insert("Nats-Batch-Commit", "1");
    }
    let subject = format!("hansard.0.acme.c{}", number - 1);
    client.request_with_headers(subject, headers, "x".into()).await
}

/// The folder of Raft logs inside a server's folder.
const RAFT_LOGS: &str = "store/jetstream/$SYS/_js_";

#[tokio::test]
async fn erased_commits_are_in_no_file_of_any_replica() {
    const SECRET: &str = "three-copies-of-one-secret";
    let Cluster { servers, record } = Box::pin(cluster()).await;
    let mut writer = Writer::of("c");
    for number in 0..20 {
        writer.append(&record, &format!("{SECRET} {number}")).await;
    }
    writer.append(&record, "a tombstone").await;
    assert_eq!(record.erase_before_last(&writer.key).await, Ok(20));
    for server in &servers {
        let logs = server.folder().join(RAFT_LOGS);
        assert!(logs.is_dir(), "{logs:?}");
        until("the end of a replica's copy", || async {
            // The Raft log contains appended messages until the server compacts it.
            files_with(server.folder(), SECRET.as_bytes()).len() == files_with(&logs, SECRET.as_bytes()).len()
        })
        .await;
    }
    // It is idempotent and removes nothing else. The fault tests of a cluster show that it repairs a replica.
    let mut progress = 0;
    let streams = record.erased_streams();
    let again = record.erase_again(&streams[0], |done| progress = done).await;
    assert_eq!((again, progress), (Ok(20), 20));
    let tail = record.tail(&writer.key, Sequence(0), TailBounds::default());
    assert_eq!(tail.await.unwrap().commits.len(), 1);
}

#[tokio::test]
async fn erasures_of_parts_logs_and_secrets_are_repeated() {
    let Cluster { servers: _servers, record } = Box::pin(cluster()).await;
    let erased = Writer::of("c");
    let kept = Writer::of("kept");
    for key in [&kept.key, &erased.key, &kept.key] {
        let part = Bytes::from_static(b"a part");
        let run = RunId(Uuid::now_v7());
        record.publish_parts(key, run, Sequence(0), part).await.unwrap();
        let (call, kept_for) = (Bytes::from_static(b"a call"), Duration::from_hours(1));
        record.publish_log(key, LogId(Uuid::now_v7()), call, kept_for).await.unwrap();
    }
    let bucket = record.registry_bucket();
    for key in ["tenant.acme", "secret.acme"] {
        let put = bucket.put(key, Bytes::from_static(b"an entry"), None, "rejected").await;
        let Ok(BucketPut::Stored(revision)) = put else { panic!("{put:?}") };
        assert_eq!(bucket.erase(revision).await, Ok(true));
    }
    record.erase_conversation(&erased.key).await.unwrap();
    let mut again = BTreeMap::new();
    for stream in record.erased_streams() {
        let removed = record.count_removed(&stream).await.unwrap();
        let mut progress = 0;
        let erased = record.erase_again(&stream, |done| progress = done).await;
        assert_eq!((erased, progress), (Ok(removed), removed), "{stream:?}");
        again.insert(stream.name, removed);
    }
    let expected = [("HANSARD_0", 0), ("HANSARD_LOGS", 1), ("HANSARD_PARTS_0", 1), ("KV_HANSARD_registry", 2)];
    let expected = expected.map(|(name, removed)| (name.to_owned(), removed));
    assert_eq!(again, expected.into());
    assert_eq!(record.erase_parts(&kept.key).await, Ok(2));
    assert_eq!(record.erase_logs(&kept.key).await, Ok(2));
}

/// Each process that creates a missing stream gives it the replicas of partition 0: a command does not know those of the record.
#[tokio::test]
async fn missing_streams_get_the_replicas_of_partition_0() {
    let Cluster { servers, record: original } = Box::pin(cluster_of(2)).await;
    let config = || RecordConfig { replicas: 1, ..Cluster::config(&servers, 2) };
    let check = async |names: &[&str]| {
        for name in names {
            let replicas = stream_config(&servers[0], name).await.num_replicas;
            assert_eq!(replicas, 3, "{name}");
        }
    };
    let lists = ["HANSARD_ERASURES", "HANSARD_ARCHIVE"];
    for name in lists {
        delete_stream(&servers[0], name).await;
    }
    let record = Record::open(config()).await.unwrap();
    record.ensure_erasures().await.unwrap();
    record.ensure_archive().await.unwrap();
    check(&lists).await;
    let others = ["HANSARD_1", "HANSARD_PARTS_1", "KV_HANSARD_registry", "KV_HANSARD_restricted", "HANSARD_LOGS"];
    for name in lists.iter().chain(&others) {
        delete_stream(&servers[0], name).await;
    }
    assert_eq!(created(config).await.id(), original.id());
    check(&lists).await;
    check(&others).await;
}

#[tokio::test]
async fn partitions_are_placed_by_tags() {
    let servers = three_servers().await;
    let config =
        || RecordConfig { replicas: 1, placement_tags: vec!["rack:1".to_owned()], ..Cluster::config(&servers, 2) };
    let record = created(config).await;
    let tag = |rack: &str| vec![format!("rack:{rack}")];
    record.announce_partitions(4, &tag("2")).await.unwrap();
    record.advance_layout().await.unwrap();
    record.advance_layout().await.unwrap();
    // Without tags: as partition 0.
    record.announce_partitions(5, &[]).await.unwrap();
    for (partition, server) in [(0, "n1"), (1, "n1"), (2, "n2"), (3, "n2"), (4, "n1")] {
        let status = record.partition_status(Partition(partition)).await.unwrap();
        assert_eq!(status.replicas.servers, [server], "{partition}");
    }
    record.advance_layout().await.unwrap();
    record.advance_layout().await.unwrap();
    delete_stream(&servers[0], "HANSARD_ERASURES").await;
    let without_tags = RecordConfig { placement_tags: Vec::new(), ..config() };
    let other = Record::open(without_tags).await.unwrap();
    other.ensure_erasures().await.unwrap();
    let placed = stream_config(&servers[0], "HANSARD_ERASURES").await.placement;
    assert_eq!(placed.map(|placed| placed.tags), Some(tag("1")));
    let nowhere = record.announce_partitions(6, &tag("9")).await;
    assert!(matches!(nowhere, Err(GrowthError::Record(_))), "{nowhere:?}");
    assert_eq!(record.read_layout().await.unwrap().partitions(), 5);
}
