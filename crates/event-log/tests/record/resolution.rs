//! Outcomes of appends whose acknowledgement was lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use domain::CommitId;
use event_log::{AppendOutcome, Record, RecordConfig};

use crate::proxy::Proxy;
use crate::support::{Writer, all_commits, all_messages, config, record_of_one, soon, until};

/// A role that starts while the machine is busy does not end because of the first attempt to connect.
#[tokio::test]
async fn a_server_that_answers_late_is_tried_again() {
    let server = devstack::test::nats().await;
    let _record = record_of_one(&server).await;
    let proxy = Proxy::to(&server.url()).await;
    proxy.hold();
    let config = RecordConfig { request_timeout_ms: 20_000, ..proxy.config() };
    let opening = async {
        let opened = Record::open(config).await;
        assert!(opened.is_ok(), "{opened:?}");
    };
    let releasing = async {
        proxy.accepted(2).await;
        proxy.release();
    };
    tokio::join!(opening, releasing);
}

#[tokio::test]
async fn a_lost_reply_is_resolved() {
    let server = devstack::test::nats().await;
    let direct = record_of_one(&server).await;
    let proxy = Proxy::to(&server.url()).await;
    let config = RecordConfig { request_timeout_ms: REQUEST_TIMEOUT_MS, ..proxy.config() };
    let record = Record::open(config).await.unwrap();
    let mut writer = Writer::of("c");
    for number in 0..20 {
        proxy.drop_reply();
        let start = Instant::now();
        let at = writer.append(&record, &number.to_string()).await;
        assert_eq!(at.0, number + 1);
        check_elapsed(start);
        assert!(!proxy.is_dropping(), "no reply was lost");
    }
    assert_eq!(all_messages(&server.url()).await.len(), 20);
    let last = direct.last(&writer.key).await.unwrap().unwrap();
    assert_eq!(last.open_head().unwrap(), writer.head.unwrap().0);
}

#[tokio::test]
async fn a_lost_reply_is_resolved_after_later_commits() {
    let server = devstack::test::nats().await;
    let direct = record_of_one(&server).await;
    let proxy = Proxy::to(&server.url()).await;
    let record = proxy.record().await;
    // As many later commits as the head lists, and more.
    for later in [1, 7, 8, 20] {
        let mut writer = Writer::of(&format!("c{later}"));
        writer.append(&direct, "first").await;
        let sealed = writer.seal("ours");
        // The commit is stored, and its reply is lost with the process.
        let outcome = direct.append(&writer.key, sealed.append.clone()).await;
        let at = writer.advance(sealed.clone(), outcome);
        for number in 0..later {
            writer.append(&direct, &number.to_string()).await;
        }
        proxy.drop_reply();
        let outcome = record.append(&writer.key, sealed.append).await;
        assert_eq!(outcome, Ok(AppendOutcome::Committed { sequence: at }), "{later}");
    }
}

/// Shared by eight appenders.
#[derive(Default)]
struct Load {
    committed: AtomicUsize,
    stops: AtomicBool,
}

#[tokio::test]
async fn every_commit_is_stored_once_despite_kills() {
    let mut server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let load = Arc::<Load>::default();
    let appending: Vec<_> =
        (0..8).map(|n| tokio::spawn(append_until(record.clone(), format!("c{n}"), Arc::clone(&load)))).collect();
    for kill in 1..=4 {
        let enough = || async { load.committed.load(Ordering::SeqCst) >= kill * 200 };
        until("commits", enough).await;
        server.kill();
        server.restart().await.unwrap();
    }
    load.stops.store(true, Ordering::SeqCst);
    let mut committed = Vec::new();
    for task in appending {
        committed.extend(soon("an appender", task).await.unwrap());
    }
    let mut stored = all_commits(&server.url()).await;
    committed.sort_unstable();
    stored.sort_unstable();
    assert_eq!(stored, committed);
    stored.sort_unstable_by_key(|(_, id)| *id);
    stored.dedup_by_key(|(_, id)| *id);
    assert_eq!(stored.len(), committed.len(), "a commit is stored twice");
}

/// Appends to one conversation; retries each commit until its outcome is known.
async fn append_until(record: Record, conversation: String, load: Arc<Load>) -> Vec<(u64, CommitId)> {
    let mut writer = Writer::of(&conversation);
    let mut committed = Vec::new();
    while !load.stops.load(Ordering::SeqCst) {
        let (append, at) = writer.append_until_known(&record, "x").await;
        committed.push((at.0, append.commit));
        load.committed.fetch_add(1, Ordering::SeqCst);
    }
    committed
}

/// More calls than the connection queues.
const CALLS: usize = 2_500;

#[tokio::test]
async fn calls_time_out_without_a_server_and_succeed_later() {
    let mut server = devstack::test::nats().await;
    let config = RecordConfig { partitions: 1, request_timeout_ms: 600, ..config(&server.url()) };
    let record = Record::create(config).await.unwrap();
    let mut writer = Writer::of("c");
    writer.append(&record, "first").await;
    for frozen in [false, true] {
        if frozen {
            server.pause();
        } else {
            server.kill();
        }
        let sealed = writer.seal("second");
        let start = Instant::now();
        let many = (0..CALLS).map(|_| record.append(&writer.key, sealed.append.clone()));
        let bounds = event_log::TailBounds::default();
        let (appended, last, tail, checked) = tokio::join!(
            futures::future::join_all(many),
            record.last(&writer.key),
            record.tail(&writer.key, domain::Sequence(0), bounds),
            record.check(),
        );
        assert!(appended.iter().all(Result::is_err));
        assert!(last.is_err() && tail.is_err() && checked.is_err());
        // The loss of the connection is known by now.
        assert!(record.live(&writer.key).await.is_err() || frozen);
        check_elapsed(start);
        if frozen {
            server.resume();
        } else {
            server.restart().await.unwrap();
        }
        until("the record", || async { record.check().await.is_ok() }).await;
        writer.append_sealed_until_known(&record, sealed).await;
    }
    // Direct reads wait behind those that the calls left.
    until("direct reads", || async { record.commits_of(&writer.key).await == Ok(3) }).await;
}

#[tokio::test]
async fn a_check_times_out_after_a_second() {
    let mut server = devstack::test::nats().await;
    let config = RecordConfig { partitions: 1, request_timeout_ms: REQUEST_TIMEOUT_MS, ..config(&server.url()) };
    let record = Record::create(config).await.unwrap();
    record.check().await.unwrap();
    server.pause();
    let start = Instant::now();
    assert!(record.check().await.is_err());
    check_elapsed(start);
    server.kill();
    let start = Instant::now();
    assert!(record.check().await.is_err());
    check_elapsed(start);
}

/// A timeout of calls that is longer than the limit of [`check_elapsed`].
const REQUEST_TIMEOUT_MS: u64 = 60_000;

/// A busy machine takes no longer than this for what ends early.
fn check_elapsed(start: Instant) {
    let elapsed = start.elapsed();
    assert!(elapsed < Duration::from_secs(30), "{elapsed:?}");
}
