//! Following a partition across losses of connection and consumer.

use std::pin::pin;
use std::time::Duration;

use domain::{Partition, Sequence, Timestamp};
use event_log::{FollowedMessage, Record, Unavailable};
use futures::{Stream, StreamExt as _};

use crate::support::{Writer, all_messages, jetstream, noise, record_of_one, soon};

const ONLY: Partition = Partition(0);

/// Reads up to a sequence; returns the number of losses.
async fn read_to(
    follow: &mut (impl Stream<Item = Result<FollowedMessage, Unavailable>> + Unpin),
    last: u64,
    into: &mut Vec<FollowedMessage>,
) -> usize {
    let mut losses = 0;
    while into.last().is_none_or(|message| message.message.position.sequence.0 < last) {
        match soon("a message", follow.next()).await {
            Some(Ok(message)) => into.push(message),
            Some(Err(_)) => losses += 1,
            None => panic!("it ended"),
        }
    }
    losses
}

/// The followed messages are exactly the stored ones, in order.
async fn check_equal(url: &str, read: &[FollowedMessage]) {
    let read: Vec<_> = read.iter().map(|m| (m.message.position.sequence.0, m.message.message.clone())).collect();
    assert_eq!(read, all_messages(url).await);
}

async fn fill(record: &Record, writers: &mut [Writer], commits: usize) -> u64 {
    let mut last = Sequence(0);
    for number in 0..commits {
        for writer in writers.iter_mut() {
            last = writer.append(record, &number.to_string()).await;
        }
    }
    last.0
}

#[tokio::test]
async fn it_continues_after_a_kill_and_across_gaps() {
    let mut server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let mut writers = ["a", "b", "c"].map(Writer::of);
    let last = fill(&record, &mut writers, 50).await;
    record.erase_before_last(&writers[1].key).await.unwrap();

    let mut follow = pin!(record.follow(ONLY, Sequence(0)));
    let mut read = Vec::new();
    assert_eq!(read_to(&mut follow, last, &mut read).await, 0);
    check_equal(&server.url(), &read).await;
    assert_eq!(read.last().map(|message| message.pending), Some(0));
    assert_eq!(read.first().map(|message| message.pending), Some(100));

    for _ in 0..3 {
        server.kill();
        let loss = soon("the loss", follow.next()).await;
        assert!(matches!(loss, Some(Err(_))));
        server.restart().await.unwrap();
        let last = fill(&record, &mut writers, 5).await;
        read_to(&mut follow, last, &mut read).await;
        check_equal(&server.url(), &read).await;
    }
    // Another reader that starts in a gap.
    let mut follow = pin!(record.follow(ONLY, Sequence(5)));
    let mut rest = Vec::new();
    let last = read.last().unwrap().message.position.sequence.0;
    read_to(&mut follow, last, &mut rest).await;
    read.retain(|message| message.message.position.sequence > Sequence(5));
    assert_eq!(rest.len(), read.len());
}

#[tokio::test]
async fn it_survives_kills_during_a_large_read() {
    let mut server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let mut writers: Vec<_> = (0..4).map(|n| Writer::of(&format!("c{n}"))).collect();
    // More bytes than one pull request may have.
    for writer in &mut writers {
        for _ in 0..12 {
            writer.append(&record, &noise(400_000)).await;
        }
    }
    let last = fill(&record, &mut writers, 300).await;
    let mut follow = pin!(record.follow(ONLY, Sequence(0)));
    let mut read = Vec::new();
    for at in [3, 40, 700] {
        read_to(&mut follow, at, &mut read).await;
        server.kill();
        server.restart().await.unwrap();
    }
    read_to(&mut follow, last, &mut read).await;
    check_equal(&server.url(), &read).await;
}

#[tokio::test]
async fn it_survives_the_loss_of_its_consumer() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let mut writer = Writer::of("c");
    let mut follow = pin!(record.follow(ONLY, Sequence(0)));
    let mut read = Vec::new();
    writer.append(&record, "first").await;
    read_to(&mut follow, 1, &mut read).await;

    let stream = jetstream(&server).await.get_stream("HANSARD_0").await.unwrap();
    let names: Vec<_> = stream.consumer_names().collect().await;
    assert_eq!(names.len(), 1);
    for name in names {
        stream.delete_consumer(&name.unwrap()).await.unwrap();
    }
    writer.append(&record, "second").await;
    assert_eq!(read_to(&mut follow, 2, &mut read).await, 1);
    check_equal(&server.url(), &read).await;
}

#[tokio::test]
async fn a_paused_server_is_a_loss_and_reading_continues() {
    let mut server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let mut writer = Writer::of("c");
    let mut follow = pin!(record.follow(ONLY, Sequence(0)));
    let mut read = Vec::new();
    let before = Timestamp(now() - 1_000_000_000);
    writer.append(&record, "first").await;
    read_to(&mut follow, 1, &mut read).await;
    assert!((before..=Timestamp(now() + 1_000_000_000)).contains(&read[0].stored_at));

    server.pause();
    let loss = soon("the loss", follow.next()).await;
    assert!(matches!(loss, Some(Err(_))));
    server.resume();
    writer.append(&record, "second").await;
    read_to(&mut follow, 2, &mut read).await;
    check_equal(&server.url(), &read).await;
}

#[tokio::test]
async fn an_idle_reader_receives_later_messages() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let mut writer = Writer::of("c");
    let mut follow = pin!(record.follow(ONLY, Sequence(0)));
    // Longer than two heartbeats.
    let idle = tokio::time::timeout(Duration::from_millis(2_500), follow.next()).await;
    assert!(idle.is_err(), "{idle:?}");
    writer.append(&record, "first").await;
    let mut read = Vec::new();
    assert_eq!(read_to(&mut follow, 1, &mut read).await, 0);
}

fn now() -> i64 {
    i64::try_from(time::OffsetDateTime::now_utc().unix_timestamp_nanos()).unwrap()
}
