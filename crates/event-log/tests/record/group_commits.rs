//! Many concurrent appends to one partition, which are published in atomic batches.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::stream::Config;
use devstack::NatsServer;
use domain::{CommitId, Sequence};
use event_log::{AppendOutcome, Record, Unavailable};
use futures::future::join_all;
use futures::poll;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::proxy::Proxy;
use crate::support::{SealedCommit, Writer, all_commits, all_messages, config_of_one, jetstream, record_of_one, soon};

/// Concurrent appends, enough for batches.
const APPENDS: usize = 300;
/// Commits that are published alone before others wait.
const SINGLES_MAX: usize = 8;
/// The server's own limit of incomplete batches of a stream.
const BATCHES_IN_FLIGHT_MAX: usize = 50;
const BATCH_ID: &str = "Nats-Batch-Id";

type Outcome = Result<AppendOutcome, Unavailable>;

fn writers(name: &str, count: usize) -> Vec<Writer> {
    (0..count).map(|n| Writer::of(&format!("{name}-{n}"))).collect()
}

/// Appends the next commit of every conversation at the same time.
async fn append_all(record: &Record, writers: &[Writer]) -> Vec<(SealedCommit, Outcome)> {
    join_all(writers.iter().map(async |writer| {
        let sealed = writer.seal("x");
        let outcome = record.append(&writer.key, sealed.append.clone()).await;
        (sealed, outcome)
    }))
    .await
}

/// Checks that every commit was appended, and advances the writers.
fn advance_all(writers: &mut [Writer], outcomes: Vec<(SealedCommit, Outcome)>) -> Vec<Sequence> {
    let outcomes = writers.iter_mut().zip(outcomes);
    outcomes.map(|(writer, (sealed, outcome))| writer.advance(sealed, outcome)).collect()
}

/// The sequences of the messages of each batch, from the leader.
pub(crate) async fn batches(server: &NatsServer) -> BTreeMap<String, Vec<u64>> {
    let stream = jetstream(server).await.get_stream("HANSARD_0").await.unwrap();
    let mut batches = BTreeMap::<String, Vec<u64>>::new();
    for sequence in 1..=stream.cached_info().state.last_sequence {
        let message = stream.get_raw_message(sequence).await.unwrap();
        if let Some(batch) = message.headers.get(BATCH_ID) {
            batches.entry(batch.to_string()).or_default().push(sequence);
        }
    }
    batches
}

/// Every conversation has its commits, once, each after the one before.
async fn check_stored(server: &NatsServer, writers: &[Writer], commits: usize) {
    let stored = all_commits(&server.url()).await;
    let ids: BTreeSet<CommitId> = stored.iter().map(|(_, id)| *id).collect();
    assert_eq!(ids.len(), stored.len(), "a commit is stored twice");
    assert_eq!(stored.len(), writers.len() * commits);
    let record = Record::open(config_of_one(server)).await.unwrap();
    for writer in writers {
        let last = record.last_from_leader(&writer.key).await.unwrap().unwrap();
        assert_eq!(last.open_head().unwrap(), writer.head.clone().unwrap().0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_commits_share_batches() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let mut writers = writers("c", APPENDS);
    for _ in 0..3 {
        let outcomes = append_all(&record, &writers).await;
        advance_all(&mut writers, outcomes);
    }
    check_stored(&server, &writers, 3).await;
    let batches = batches(&server).await;
    assert!(!batches.is_empty(), "no batch");
    for sequences in batches.values() {
        let consecutive = sequences.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        assert!(consecutive, "{sequences:?}");
    }
}

#[tokio::test]
async fn few_concurrent_commits_are_published_alone() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let mut writers = writers("c", 8);
    for _ in 0..10 {
        let outcomes = append_all(&record, &writers).await;
        advance_all(&mut writers, outcomes);
    }
    check_stored(&server, &writers, 10).await;
    assert_eq!(batches(&server).await, BTreeMap::new());
}

/// Conversations that another writer has advanced are superseded; the others of their batches are stored.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_check_does_not_fail_the_others() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let other = Record::open(config_of_one(&server)).await.unwrap();
    // More failures than a batch is sent again, and conversations that do not exist.
    for (round, stale) in [1, 2, 3, 8, 60].into_iter().enumerate() {
        let mut writers = writers(&format!("round{round}"), APPENDS);
        let outcomes = append_all(&record, &writers).await;
        advance_all(&mut writers, outcomes);
        let (raced, others) = writers.split_at_mut(stale);
        for writer in raced.iter() {
            writer.clone().append(&other, "first").await;
        }
        let mut unknown = Writer::of(&format!("unknown{round}"));
        unknown.head.clone_from(&raced[0].head);
        let (raced_outcomes, outcomes, unknown) = tokio::join!(
            append_all(&record, raced),
            append_all(&record, others),
            append_all(&record, std::slice::from_ref(&unknown)),
        );
        advance_all(others, outcomes);
        for (_, outcome) in raced_outcomes {
            assert!(matches!(outcome, Ok(AppendOutcome::Superseded { last: Some(_) })), "{outcome:?}");
        }
        let missing = Ok(AppendOutcome::Superseded { last: None });
        assert_eq!(unknown[0].1, missing);
    }
    assert!(!batches(&server).await.is_empty(), "no batch");
}

/// A retried commit and a commit with the id of another conversation are resolved; the others are stored.
#[tokio::test(flavor = "multi_thread")]
async fn duplicate_ids_do_not_fail_the_others() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let mut first = writers("first", APPENDS);
    let outcomes = append_all(&record, &first).await;
    let stored: Vec<_> = outcomes.iter().map(|(sealed, _)| sealed.clone()).collect();
    let at = advance_all(&mut first, outcomes);
    let mut second = writers("second", APPENDS);
    let ids = |n: usize| match n {
        0..10 => stored[n].append.commit,
        _ => CommitId(Uuid::now_v7()),
    };
    let appending = second.iter().enumerate().map(async |(n, writer)| {
        let sealed = writer.seal_as(ids(n), "y");
        let outcome = record.append(&writer.key, sealed.append.clone()).await;
        (sealed, outcome)
    });
    let retrying =
        first.iter().zip(&stored).take(10).map(|(writer, sealed)| record.append(&writer.key, sealed.append.clone()));
    let (outcomes, retries) = tokio::join!(join_all(appending), join_all(retrying));
    advance_all(&mut second, outcomes);
    for (retry, at) in retries.into_iter().zip(at) {
        assert_eq!(retry, Ok(AppendOutcome::Committed { sequence: at }));
    }
    assert_eq!(all_messages(&server.url()).await.len(), 2 * APPENDS);
}

/// A server, a proxy to it, and a record of one partition through the proxy.
async fn through_proxy() -> (NatsServer, Proxy, Record) {
    let server = devstack::test::nats().await;
    drop(record_of_one(&server).await);
    let proxy = Proxy::to(&server.url()).await;
    let record = proxy.record().await;
    (server, proxy, record)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lost_acknowledgement_of_a_batch_is_resolved() {
    let (server, proxy, record) = through_proxy().await;
    let mut writers = writers("c", APPENDS);
    for commits in 1..=5 {
        proxy.drop_reply();
        let outcomes = append_all(&record, &writers).await;
        advance_all(&mut writers, outcomes);
        assert!(!proxy.is_dropping(), "no reply was lost");
        check_stored(&server, &writers, commits).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lost_acknowledgement_of_a_batch_of_128_is_resolved() {
    let (server, proxy, record) = through_proxy().await;
    // As many as are published alone at first, and those that wait for them.
    let mut writers = writers("c", SINGLES_MAX + 128);
    proxy.drop_reply_with("\"count\":128}");
    proxy.hold();
    let mut appending = Box::pin(append_all(&record, &writers));
    assert!(poll!(&mut appending).is_pending());
    proxy.release();
    let outcomes = appending.as_mut().await;
    drop(appending);
    advance_all(&mut writers, outcomes);
    assert!(!proxy.is_dropping(), "no reply was lost");
    check_stored(&server, &writers, 1).await;
    let batches = batches(&server).await;
    assert!(batches.values().any(|batch| batch.len() == 128));
}

/// Commits whose callers are gone are stored or not, and the others are stored.
#[tokio::test(flavor = "multi_thread")]
async fn callers_that_leave_do_not_stop_the_others() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    for round in 0..20 {
        let mut leaving = JoinSet::new();
        for writer in writers(&format!("leaving{round}"), APPENDS) {
            let record = record.clone();
            leaving.spawn(async move { record.append(&writer.key, writer.seal("x").append).await });
        }
        let left = async {
            tokio::time::sleep(Duration::from_millis(round)).await;
            leaving.shutdown().await;
        };
        let mut staying = writers(&format!("staying{round}"), APPENDS);
        let (outcomes, ()) = tokio::join!(append_all(&record, &staying), left);
        advance_all(&mut staying, outcomes);
    }
}

/// Two writers with batches in the same stream.
#[tokio::test(flavor = "multi_thread")]
async fn batches_of_two_writers_interleave() {
    let server = devstack::test::nats().await;
    let records = [record_of_one(&server).await, Record::open(config_of_one(&server)).await.unwrap()];
    let mut all = [writers("one", APPENDS), writers("two", APPENDS)];
    for _ in 0..3 {
        let appending = records.iter().zip(&all);
        let outcomes = join_all(appending.map(|(record, writers)| append_all(record, writers))).await;
        for (writers, outcomes) in all.iter_mut().zip(outcomes) {
            advance_all(writers, outcomes);
        }
    }
    check_stored(&server, &all.concat(), 3).await;
}

/// The server holds as many incomplete batches of a stream as it accepts: commits are published one by one.
#[tokio::test(flavor = "multi_thread")]
async fn more_batches_than_the_server_accepts_are_published_alone() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    for batch in 0..BATCHES_IN_FLIGHT_MAX {
        stage(&server, &format!("staged-{batch}"), 1).await;
    }
    let mut writers = writers("c", APPENDS);
    let outcomes = append_all(&record, &writers).await;
    advance_all(&mut writers, outcomes);
    check_stored(&server, &writers, 1).await;
    assert_eq!(batches(&server).await, BTreeMap::new());
}

/// Sends the first messages of a batch, and waits until the server has them.
async fn stage(server: &NatsServer, batch: &str, messages: usize) {
    let client = async_nats::connect(server.url()).await.unwrap();
    for number in 1..=messages {
        let mut headers = async_nats::HeaderMap::new();
        headers.insert(BATCH_ID, batch);
        headers.insert("Nats-Batch-Sequence", number.to_string().as_str());
        let subject = format!("hansard.0.acme.{batch}-{number}");
        client.publish_with_headers(subject, headers, "x".into()).await.unwrap();
    }
    client.flush().await.unwrap();
}

async fn stream_config(context: &Context) -> Config {
    let stream = context.get_stream("HANSARD_0").await.unwrap();
    stream.cached_info().config.clone()
}

/// Streams of earlier versions do not accept batches; the start of a writer changes them.
#[tokio::test(flavor = "multi_thread")]
async fn existing_streams_are_changed_at_start() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    assert!(record.accepts_batches());
    let context = jetstream(&server).await;
    let created = stream_config(&context).await;
    let without = Config { allow_atomic_publish: false, ..created.clone() };
    context.update_stream(without).await.unwrap();
    let record = Record::open(config_of_one(&server)).await.unwrap();
    assert!(!record.accepts_batches());
    let mut writers = writers("c", APPENDS);
    let outcomes = append_all(&record, &writers).await;
    advance_all(&mut writers, outcomes);
    assert_eq!(batches(&server).await, BTreeMap::new());

    let record = record_of_one(&server).await;
    assert!(record.accepts_batches());
    assert_eq!(stream_config(&context).await, created);
    let outcomes = append_all(&record, &writers).await;
    advance_all(&mut writers, outcomes);
    check_stored(&server, &writers, 2).await;
    assert!(!batches(&server).await.is_empty(), "no batch");
}

/// A batch without its last message, as a killed writer leaves it, is never stored.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_without_its_end_is_not_stored() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    stage(&server, "staged", 40).await;
    let mut writers = writers("c", APPENDS);
    let outcomes = append_all(&record, &writers).await;
    advance_all(&mut writers, outcomes);
    check_stored(&server, &writers, 1).await;
    assert!(!batches(&server).await.is_empty(), "no batch");
}

/// The server is killed while batches are staged and stored.
#[tokio::test(flavor = "multi_thread")]
async fn batches_are_stored_once_despite_kills() {
    let mut server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let (sender, mut appended) = mpsc::channel(1);
    let mut appending = JoinSet::new();
    for writer in writers("c", APPENDS) {
        appending.spawn(append_until_closed(record.clone(), writer, sender.clone()));
    }
    drop(sender);
    for _ in 0..4 {
        for _ in 0..APPENDS * 3 {
            soon("a commit", appended.recv()).await.unwrap();
        }
        server.kill();
        server.restart().await.unwrap();
    }
    drop(appended);
    let appended = soon("the appenders", appending.join_all()).await;
    let mut expected: Vec<_> = appended.into_iter().flatten().collect();
    let mut stored = all_commits(&server.url()).await;
    expected.sort_unstable();
    stored.sort_unstable();
    assert_eq!(stored, expected);
    assert!(!batches(&server).await.is_empty(), "no batch");
}

/// Appends to one conversation, and retries each commit until its outcome is known.
async fn append_until_closed(record: Record, mut writer: Writer, appended: mpsc::Sender<()>) -> Vec<(u64, CommitId)> {
    let mut commits = Vec::new();
    loop {
        let (append, at) = writer.append_until_known(&record, "x").await;
        commits.push((at.0, append.commit));
        if appended.send(()).await.is_err() {
            return commits;
        }
    }
}
