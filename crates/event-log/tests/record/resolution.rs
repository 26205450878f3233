//! What became of appends whose answer was lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use domain::CommitId;
use event_log::{AppendOutcome, Record, RecordConfig};

use crate::proxy::Proxy;
use crate::support::{Writer, all_messages, config, record_of_one, soon, until};

async fn record_behind(proxy: &Proxy) -> Record {
    let config = RecordConfig {
        partitions: 1,
        ..config(&proxy.url)
    };
    Record::open(config).await.unwrap()
}

#[tokio::test]
async fn a_lost_answer_is_found_out() {
    let server = devstack::test::nats().await;
    let direct = record_of_one(&server).await;
    let proxy = Proxy::to(&server.url()).await;
    let record = record_behind(&proxy).await;
    let mut writer = Writer::of("c");
    for number in 0..20 {
        proxy.swallow();
        let began = Instant::now();
        let at = writer.append(&record, &number.to_string()).await;
        assert_eq!(at.0, number + 1);
        assert!(
            began.elapsed() < Duration::from_secs(1),
            "{:?}",
            began.elapsed()
        );
        assert!(!proxy.is_swallowing(), "the answer was not lost");
    }
    assert_eq!(all_messages(&server.url()).await.len(), 20);
    let last = direct.last(&writer.key).await.unwrap().unwrap();
    assert_eq!(last.open_head().unwrap(), writer.head.unwrap().0);
}

#[tokio::test]
async fn a_lost_answer_is_found_out_under_later_commits() {
    let server = devstack::test::nats().await;
    let direct = record_of_one(&server).await;
    let proxy = Proxy::to(&server.url()).await;
    let record = record_behind(&proxy).await;
    // As many later commits as the head names, and more.
    for later in [1, 7, 8, 20] {
        let mut writer = Writer::of(&format!("c{later}"));
        writer.append(&direct, "first").await;
        let draught = writer.draw("ours");
        // The commit is in, and its answer lost with the process that asked.
        let outcome = direct.append(&writer.key, draught.append.clone()).await;
        let at = writer.took(draught.clone(), outcome);
        for number in 0..later {
            writer.append(&direct, &number.to_string()).await;
        }
        proxy.swallow();
        let outcome = record.append(&writer.key, draught.append).await;
        assert_eq!(
            outcome,
            Ok(AppendOutcome::Committed { sequence: at }),
            "{later}"
        );
    }
}

/// What eight appenders share.
#[derive(Default)]
struct Load {
    committed: AtomicUsize,
    stops: AtomicBool,
}

#[tokio::test]
async fn every_commit_is_there_once_over_kills() {
    let mut server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let load = Arc::<Load>::default();
    let appending: Vec<_> = (0..8)
        .map(|n| {
            tokio::spawn(append_until(
                record.clone(),
                format!("c{n}"),
                Arc::clone(&load),
            ))
        })
        .collect();
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
    let stored = all_messages(&server.url()).await;
    let mut stored: Vec<_> = stored
        .into_iter()
        .map(|(sequence, message)| (sequence, wire::commit::open(message).unwrap().commit.id))
        .collect();
    committed.sort_unstable();
    stored.sort_unstable();
    assert_eq!(stored, committed);
    stored.sort_unstable_by_key(|(_, id)| *id);
    stored.dedup_by_key(|(_, id)| *id);
    assert_eq!(stored.len(), committed.len(), "a commit is there twice");
}

/// Appends to one conversation, each commit until it is known to be in.
async fn append_until(
    record: Record,
    conversation: String,
    load: Arc<Load>,
) -> Vec<(u64, CommitId)> {
    let mut writer = Writer::of(&conversation);
    let mut committed = Vec::new();
    while !load.stops.load(Ordering::SeqCst) {
        let draught = writer.draw("x");
        let outcome = loop {
            let outcome = record.append(&writer.key, draught.append.clone()).await;
            if outcome.is_ok() {
                break outcome;
            }
        };
        let id = draught.append.commit;
        committed.push((writer.took(draught, outcome).0, id));
        load.committed.fetch_add(1, Ordering::SeqCst);
    }
    committed
}

#[tokio::test]
async fn without_a_server_calls_end_in_time_and_go_on_after() {
    let mut server = devstack::test::nats().await;
    let config = RecordConfig {
        partitions: 1,
        request_timeout_ms: 600,
        ..config(&server.url())
    };
    let record = Record::create(config).await.unwrap();
    let mut writer = Writer::of("c");
    writer.append(&record, "first").await;
    for frozen in [false, true] {
        if frozen {
            server.pause();
        } else {
            server.kill();
        }
        let draught = writer.draw("second");
        let began = Instant::now();
        let many = (0..5_000).map(|_| record.append(&writer.key, draught.append.clone()));
        let outcomes = futures::future::join_all(many).await;
        assert!(outcomes.iter().all(Result::is_err));
        assert!(record.last(&writer.key).await.is_err());
        assert!(
            record
                .tail(
                    &writer.key,
                    domain::Sequence(0),
                    event_log::TailBounds::default()
                )
                .await
                .is_err()
        );
        assert!(record.live(&writer.key).await.is_err() || frozen);
        assert!(record.check().await.is_err());
        assert!(
            began.elapsed() < Duration::from_secs(5),
            "{:?}",
            began.elapsed()
        );
        if frozen {
            server.resume();
        } else {
            server.restart().await.unwrap();
        }
        until("the record", || async { record.check().await.is_ok() }).await;
        let outcome = record.append(&writer.key, draught.append.clone()).await;
        writer.took(draught, outcome);
    }
    assert_eq!(all_messages(&server.url()).await.len(), 3);
}

#[tokio::test]
async fn a_check_takes_a_second_at_most() {
    let mut server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    record.check().await.unwrap();
    server.pause();
    let began = Instant::now();
    assert!(record.check().await.is_err());
    assert!(
        began.elapsed() < Duration::from_millis(1_300),
        "{:?}",
        began.elapsed()
    );
    server.kill();
    let began = Instant::now();
    assert!(record.check().await.is_err());
    assert!(
        began.elapsed() < Duration::from_millis(1_300),
        "{:?}",
        began.elapsed()
    );
}
