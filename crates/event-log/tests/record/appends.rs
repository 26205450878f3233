//! Appends, retries, races.

use domain::CommitId;
use event_log::{AppendOutcome, Record};
use futures::future::join_all;
use uuid::Uuid;

use crate::support::{Writer, all_messages, config, noise, record_of_one};

#[tokio::test]
async fn a_commit_is_there_once_whatever_is_retried() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let mut writer = Writer::of("c");
    let first = writer.draw("first");
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
        let draught = writer.draw(&number.to_string());
        let outcome = record.append(&writer.key, draught.append.clone()).await;
        let sequence = writer.took(draught.clone(), outcome);
        retries.push((draught.append, sequence));
    }
    // All of them again: the latest are named by the head, the others are more than eight commits back.
    for (append, sequence) in &retries {
        let outcome = record.append(&writer.key, append.clone()).await.unwrap();
        let expected = AppendOutcome::Committed {
            sequence: *sequence,
        };
        assert_eq!(outcome, expected);
    }
    // A writer that has forgotten them asks after the last one; the stream's own window knows them.
    let (_, last) = writer.head.clone().unwrap();
    let mut forgotten = retries[1].0.clone();
    forgotten.expected = Some(last);
    let outcome = record.append(&writer.key, forgotten).await.unwrap();
    let expected = AppendOutcome::Committed {
        sequence: retries[1].1,
    };
    assert_eq!(outcome, expected);
    assert_eq!(all_messages(&server.url()).await.len(), 13);
}

#[tokio::test]
async fn another_commit_under_the_same_id_is_told_apart() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let mut writer = Writer::of("c");
    writer.append(&record, "first").await;
    let id = CommitId(Uuid::now_v7());
    let (ours, theirs) = (writer.draw_as(id, "ours"), writer.draw_as(id, "theirs"));
    let outcome = record.append(&writer.key, theirs.append.clone()).await;
    let sequence = writer.took(theirs, outcome);
    // The head names it, then it is too far back, and then only the stream's window knows it.
    for later in 0..10 {
        let outcome = record.append(&writer.key, ours.append.clone()).await;
        assert_eq!(
            outcome,
            Ok(AppendOutcome::Duplicate { sequence }),
            "{later}"
        );
        let last = writer.append(&record, &later.to_string()).await;
        let mut forgotten = ours.append.clone();
        forgotten.expected = Some(last);
        let outcome = record.append(&writer.key, forgotten).await;
        assert_eq!(
            outcome,
            Ok(AppendOutcome::Duplicate { sequence }),
            "{later}"
        );
    }
    assert_eq!(all_messages(&server.url()).await.len(), 12);
}

#[tokio::test]
async fn superseded_says_by_what_also_after_many_commits() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let mut writer = Writer::of("c");
    writer.append(&record, "first").await;
    let late = writer.draw("late");
    for number in 0..10 {
        let at = writer.append(&record, &number.to_string()).await;
        let outcome = record.append(&writer.key, late.append.clone()).await;
        let Ok(AppendOutcome::Superseded { last: Some(last) }) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(last.position.sequence, at);
        assert_eq!(
            last.open().unwrap().opened.commit.head,
            writer.head.clone().unwrap().0
        );
    }
    // Expecting what is not there is superseded, too.
    let mut strange = Writer::of("none").draw("x").append;
    strange.expected = Some(domain::Sequence(1));
    let outcome = record.append(&Writer::of("none").key, strange).await;
    assert_eq!(outcome, Ok(AppendOutcome::Superseded { last: None }));
}

#[tokio::test]
async fn of_racing_writers_exactly_one_wins_each_round() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let mut writer = Writer::of("c");
    for round in 0..20 {
        let draughts: Vec<_> = (0..16)
            .map(|n| writer.draw(&format!("{round}/{n}")))
            .collect();
        let racing = draughts.iter().map(|draught| {
            let (record, key, append) =
                (record.clone(), writer.key.clone(), draught.append.clone());
            tokio::spawn(async move { record.append(&key, append).await.unwrap() })
        });
        let outcomes: Vec<_> = join_all(racing)
            .await
            .into_iter()
            .map(Result::unwrap)
            .collect();
        let mut won = Vec::new();
        for (draught, outcome) in draughts.into_iter().zip(outcomes) {
            match outcome {
                AppendOutcome::Committed { sequence } => won.push((draught, sequence)),
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
        writer.took(winner, Ok(AppendOutcome::Committed { sequence }));
    }
    assert_eq!(all_messages(&server.url()).await.len(), 20);
}

#[tokio::test]
async fn one_id_in_two_conversations_is_two_commits() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let id = CommitId(Uuid::now_v7());
    let (mut one, mut other) = (Writer::of("one"), Writer::of("other"));
    let draught = one.draw_as(id, "one");
    let outcome = record.append(&one.key, draught.append.clone()).await;
    assert_eq!(one.took(draught, outcome).0, 1);

    let draught = other.draw_as(id, "other");
    let append = draught.append.clone();
    let outcome = record.append(&other.key, append.clone()).await;
    assert_eq!(other.took(draught, outcome).0, 2);
    // A retry gets the same answer, by head or by the stream's window.
    let again = record.append(&other.key, append.clone()).await.unwrap();
    assert_eq!(
        again,
        AppendOutcome::Committed {
            sequence: domain::Sequence(2)
        }
    );
    for number in 0..9 {
        other.append(&record, &number.to_string()).await;
    }
    let mut forgotten = append;
    forgotten.expected = other.head.clone().map(|(_, at)| at);
    let again = record.append(&other.key, forgotten).await.unwrap();
    assert_eq!(
        again,
        AppendOutcome::Committed {
            sequence: domain::Sequence(2)
        }
    );
    assert_eq!(all_messages(&server.url()).await.len(), 11);
}

#[tokio::test]
async fn the_largest_commit_goes_in_and_comes_out_everywhere() {
    let server = devstack::test::nats().await;
    let record = Record::create(config(&server.url())).await.unwrap();
    let mut writer = Writer::of("c");
    writer.append(&record, "first").await;
    let mut draught = writer.draw("x");
    draught.append.message = noise(record.payload_bytes_max())
        .split_off(0)
        .into_bytes()
        .into_iter()
        .take(record.payload_bytes_max())
        .collect::<Vec<_>>()
        .into();
    draught.append.trace.put("traceparent", &"t".repeat(512));
    draught.append.trace.put("tracestate", &"s".repeat(512));
    let outcome = record.append(&writer.key, draught.append.clone()).await;
    let at = writer.took(draught.clone(), outcome);
    for read in [
        record.last(&writer.key).await,
        record.last_from_leader(&writer.key).await,
    ] {
        let read = read.unwrap().unwrap();
        assert_eq!(read.position.sequence, at);
        assert_eq!(read.message, draught.append.message);
        assert_eq!(read.trace, draught.append.trace);
        assert!(read.open().is_err_and(|error| error.sequence == at));
    }
    let tail = record.tail(
        &writer.key,
        domain::Sequence(1),
        event_log::TailBounds::default(),
    );
    let tail = tail.await.unwrap();
    assert_eq!(tail.commits.len(), 1);
    assert_eq!(tail.commits[0].message, draught.append.message);
    assert_eq!(tail.resume_after, None);
}
