//! Replays of the record under other subjects.

use std::pin::pin;

use async_nats::jetstream::stream::{Config, DiscardPolicy};
use domain::{Partition, Sequence};
use event_log::{FollowedMessage, Record, ReplayPrefix, Unavailable};
use futures::StreamExt as _;

use crate::support::{Writer, jetstream, record_of_one, soon};

/// Commits of two conversations.
const COMMITS: usize = 600;

async fn filled(record: &Record) -> Vec<FollowedMessage> {
    let mut writers = ["a", "b"].map(Writer::of);
    for number in 0..COMMITS / 2 {
        for writer in &mut writers {
            writer.append(record, &number.to_string()).await;
        }
    }
    let mut follow = pin!(record.follow(Partition(0), Sequence(0)));
    let mut all = Vec::new();
    while all.len() < COMMITS {
        let next = soon("a message", follow.next()).await.unwrap();
        all.push(next.unwrap());
    }
    all
}

async fn replay(record: &Record, messages: &[FollowedMessage]) -> Result<Option<String>, Unavailable> {
    let prefix = ReplayPrefix::parse("team.copy").unwrap();
    let mut replay = record.replay(prefix).await?;
    for message in messages {
        let key = message.key.as_ref().unwrap();
        replay.publish(key, &message.message).await?;
    }
    replay.settle().await?;
    Ok(replay.stream().map(str::to_owned))
}

#[tokio::test]
async fn subscribers_get_the_stored_messages() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let messages = filled(&record).await;
    let client = async_nats::connect(server.url()).await.unwrap();
    let mut copies = client.subscribe("team.copy.>").await.unwrap();
    client.flush().await.unwrap();
    assert_eq!(replay(&record, &messages).await, Ok(None));
    for message in &messages {
        let copy = soon("a copy", copies.next()).await.unwrap();
        let key = message.key.as_ref().unwrap();
        let subject = format!("team.copy.0.acme.{}", key.conversation);
        assert_eq!(copy.subject.as_str(), subject);
        assert_eq!(copy.payload, message.message.message);
    }
}

fn copy_stream(max_messages: i64) -> Config {
    Config {
        name: "COPY".to_owned(),
        subjects: vec!["team.>".to_owned()],
        max_messages,
        discard: DiscardPolicy::New,
        ..Config::default()
    }
}

#[tokio::test]
async fn a_stream_stores_each_message_once() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let messages = filled(&record).await;
    let context = jetstream(&server).await;
    let mut copies = context.create_stream(copy_stream(-1)).await.unwrap();
    for _ in 0..2 {
        let stream = replay(&record, &messages).await.unwrap();
        assert_eq!(stream.as_deref(), Some("COPY"));
    }
    let stored = copies.info().await.unwrap().state.messages;
    assert_eq!(stored, u64::try_from(COMMITS).unwrap());
}

#[tokio::test]
async fn a_full_stream_is_an_error() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let messages = filled(&record).await;
    let context = jetstream(&server).await;
    context.create_stream(copy_stream(599)).await.unwrap();
    assert!(replay(&record, &messages).await.is_err());
}
