//! Appends, retries and races.

use domain::CommitId;
use event_log::{AppendOutcome, Record};
use futures::future::join_all;
use uuid::Uuid;

use crate::support::{Writer, all_messages, config, noise, record_of_one};

#[tokio::test]
async fn retries_store_a_commit_once() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let mut writer = Writer::of("c");
    let first = writer.seal("first");
    let at = writer.append(&record, "first").await;
    assert_eq!(at.0, 1);
    // Another commit than the first of an existing conversation.
    let outcome = record.append(&writer.key, first.append).await.unwrap();
    let AppendOutcome::Superseded { last: Some(last) } = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(last.position.sequence, at);

    let mut retries = Vec::new();
    for number in 0..12 {
        let sealed = writer.seal(&number.to_string());
        let outcome = record.append(&writer.key, sealed.append.clone()).await;
        let sequence = writer.advance(sealed.clone(), outcome);
        retries.push((sealed.append, sequence));
    }
    // Retry all: the head lists the latest; the others are more than eight commits back.
    for (append, sequence) in &retries {
        let outcome = record.append(&writer.key, append.clone()).await.unwrap();
        let expected = AppendOutcome::Committed { sequence: *sequence };
        assert_eq!(outcome, expected);
    }
    // A retry that expects the last commit: the stream's duplicate window has the id.
    let (_, last) = writer.head.clone().unwrap();
    let mut retry = retries[1].0.clone();
    retry.expected = Some(last);
    let outcome = record.append(&writer.key, retry).await.unwrap();
    let expected = AppendOutcome::Committed { sequence: retries[1].1 };
    assert_eq!(outcome, expected);
    assert_eq!(all_messages(&server.url()).await.len(), 13);
}

#[tokio::test]
async fn another_commit_with_the_same_id_is_a_duplicate() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let mut writer = Writer::of("c");
    writer.append(&record, "first").await;
    let id = CommitId(Uuid::now_v7());
    let (ours, theirs) = (writer.seal_as(id, "ours"), writer.seal_as(id, "theirs"));
    let outcome = record.append(&writer.key, theirs.append.clone()).await;
    let sequence = writer.advance(theirs, outcome);
    // The head lists it; later it is too far back, and only the stream's duplicate window has it.
    for later in 0..10 {
        let outcome = record.append(&writer.key, ours.append.clone()).await;
        assert_eq!(outcome, Ok(AppendOutcome::Duplicate { sequence }), "{later}");
        let last = writer.append(&record, &later.to_string()).await;
        let mut retry = ours.append.clone();
        retry.expected = Some(last);
        let outcome = record.append(&writer.key, retry).await;
        assert_eq!(outcome, Ok(AppendOutcome::Duplicate { sequence }), "{later}");
    }
    assert_eq!(all_messages(&server.url()).await.len(), 12);
}

#[tokio::test]
async fn superseded_returns_the_last_commit() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let mut writer = Writer::of("c");
    writer.append(&record, "first").await;
    let late = writer.seal("late");
    for number in 0..10 {
        let at = writer.append(&record, &number.to_string()).await;
        let outcome = record.append(&writer.key, late.append.clone()).await;
        let Ok(AppendOutcome::Superseded { last: Some(last) }) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(last.position.sequence, at);
        let actual = last.open().unwrap().opened.commit.head;
        assert_eq!(actual, writer.head.clone().unwrap().0);
    }
    // An append that expects a missing commit is superseded, too.
    let mut strange = Writer::of("none").seal("x").append;
    strange.expected = Some(domain::Sequence(1));
    let outcome = record.append(&Writer::of("none").key, strange).await;
    assert_eq!(outcome, Ok(AppendOutcome::Superseded { last: None }));
}

#[tokio::test]
async fn one_of_several_racing_writers_wins() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let mut writer = Writer::of("c");
    for round in 0..20 {
        let sealed_commits: Vec<_> = (0..16).map(|n| writer.seal(&format!("{round}/{n}"))).collect();
        let racing = sealed_commits.iter().map(|sealed| {
            let (record, key, append) = (record.clone(), writer.key.clone(), sealed.append.clone());
            tokio::spawn(async move { record.append(&key, append).await.unwrap() })
        });
        let outcomes: Vec<_> = join_all(racing).await.into_iter().map(Result::unwrap).collect();
        let mut won = Vec::new();
        for (sealed, outcome) in sealed_commits.into_iter().zip(outcomes) {
            match outcome {
                AppendOutcome::Committed { sequence } => won.push((sealed, sequence)),
                AppendOutcome::Superseded { last: Some(last) } => {
                    assert_eq!(last.position.sequence.0, round + 1);
                }
                other @ (AppendOutcome::Duplicate { .. } | AppendOutcome::Superseded { .. }) => {
                    panic!("{other:?}")
                }
            }
        }
        let (winner, sequence) = won.pop().unwrap();
        assert!(won.is_empty(), "{} more won", won.len());
        writer.advance(winner, Ok(AppendOutcome::Committed { sequence }));
    }
    assert_eq!(all_messages(&server.url()).await.len(), 20);
}

#[tokio::test]
async fn one_id_in_two_conversations_is_two_commits() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let id = CommitId(Uuid::now_v7());
    let (mut one, mut other) = (Writer::of("one"), Writer::of("other"));
    let sealed = one.seal_as(id, "one");
    let outcome = record.append(&one.key, sealed.append.clone()).await;
    assert_eq!(one.advance(sealed, outcome).0, 1);

    let sealed = other.seal_as(id, "other");
    let append = sealed.append.clone();
    let outcome = record.append(&other.key, append.clone()).await;
    assert_eq!(other.advance(sealed, outcome).0, 2);
    // A retry gets the same outcome, by the head or by the stream's duplicate window.
    let again = record.append(&other.key, append.clone()).await.unwrap();
    assert_eq!(again, AppendOutcome::Committed { sequence: domain::Sequence(2) });
    for number in 0..9 {
        other.append(&record, &number.to_string()).await;
    }
    let mut retry = append;
    retry.expected = other.head.clone().map(|(_, at)| at);
    let again = record.append(&other.key, retry).await.unwrap();
    assert_eq!(again, AppendOutcome::Committed { sequence: domain::Sequence(2) });
    assert_eq!(all_messages(&server.url()).await.len(), 11);
}

#[tokio::test]
async fn the_largest_commit_is_stored_and_read() {
    let server = devstack::test::nats().await;
    let record = Record::create(config(&server.url())).await.unwrap();
    let mut writer = Writer::of("c");
    writer.append(&record, "first").await;
    let mut sealed = writer.seal("x");
    let mut message = noise(record.payload_bytes_max());
    message.truncate(record.payload_bytes_max());
    sealed.append.message = message.into();
    sealed.append.trace.put("traceparent", &"t".repeat(512));
    sealed.append.trace.put("tracestate", &"s".repeat(512));
    let outcome = record.append(&writer.key, sealed.append.clone()).await;
    let at = writer.advance(sealed.clone(), outcome);
    for read in [record.last(&writer.key).await, record.last_from_leader(&writer.key).await] {
        let read = read.unwrap().unwrap();
        assert_eq!(read.position.sequence, at);
        assert_eq!(read.message, sealed.append.message);
        assert_eq!(read.trace, sealed.append.trace);
        assert!(read.open().is_err_and(|error| error.sequence == at));
    }
    let tail = record.tail(&writer.key, domain::Sequence(1), event_log::TailBounds::default()).await.unwrap();
    assert_eq!(tail.commits.len(), 1);
    assert_eq!(tail.commits[0].message, sealed.append.message);
    assert_eq!(tail.resume_after, None);
}
