//! The last commit of every conversation of a partition.

use std::collections::BTreeMap;

use domain::{Partition, Sequence};
use event_log::Record;
use futures::TryStreamExt as _;

use crate::support::{Writer, noise, record_of_one, soon};

async fn standings(record: &Record) -> BTreeMap<String, u64> {
    let read: Vec<_> = record.last_commits(Partition(0)).try_collect().await.unwrap();
    read.into_iter()
        .map(|(key, message)| {
            let conversation = key.conversation.as_str().to_owned();
            (conversation, message.position.sequence.0)
        })
        .collect()
}

#[tokio::test]
async fn the_last_commit_of_each_conversation_is_read() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    assert_eq!(standings(&record).await, BTreeMap::new());
    let mut expected = BTreeMap::new();
    // More conversations than one request may list.
    let mut writers: Vec<Writer> = (0..1_100).map(|n| Writer::of(&format!("c{n}"))).collect();
    for (index, writer) in writers.iter_mut().enumerate() {
        for text in ["a", "b", "c"].iter().take(index % 3 + 1) {
            let sequence = writer.append(&record, text).await;
            expected.insert(writer.key.conversation.as_str().to_owned(), sequence.0);
        }
    }
    assert_eq!(standings(&record).await, expected);
    record.erase_before_last(&writers[2].key).await.unwrap();
    assert_eq!(standings(&record).await, expected);
}

#[tokio::test]
async fn the_last_commit_up_to_a_sequence_is_read() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let (mut a, mut b) = (Writer::of("a"), Writer::of("b"));
    for _ in 0..3 {
        b.append(&record, "x").await;
        a.append(&record, "y").await;
    }
    let check = async |up_to: u64, expected: Option<u64>| {
        let found =
            record.last_up_to(&a.key, Sequence(up_to)).await.unwrap().map(|message| message.position.sequence.0);
        assert_eq!(found, expected, "up to {up_to}");
    };
    check(0, None).await;
    check(1, None).await;
    check(2, Some(2)).await;
    check(5, Some(4)).await;
    check(6, Some(6)).await;
    check(1_000, Some(6)).await;
    let unknown = Writer::of("none").key;
    assert_eq!(record.last_up_to(&unknown, Sequence(6)).await, Ok(None));
}

#[tokio::test]
async fn a_read_continues_after_restarts() {
    let mut server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    // More bytes than one pull request may have.
    let mut writers: Vec<Writer> = (0..60).map(|n| Writer::of(&format!("c{n}"))).collect();
    for writer in &mut writers {
        writer.append(&record, &noise(400_000)).await;
    }
    let begun: Vec<_> = writers.iter().map(sequence_of).collect();
    let mut commits = record.last_commits(Partition(0));
    let mut read = Vec::new();
    for at in [2, 20] {
        while read.len() < at {
            let (key, message) = soon("a commit", commits.try_next()).await.unwrap().unwrap();
            read.push((key, message.position.sequence));
        }
        server.restart().await.unwrap();
        // One that was read, and one that was not.
        for changed in [0, 59] {
            writers[changed].append_until_known(&record, "later").await;
        }
    }
    while let Some((key, message)) = soon("a commit", commits.try_next()).await.unwrap() {
        read.push((key, message.position.sequence));
    }
    assert!(read.is_sorted_by_key(|(_, sequence)| *sequence), "{read:?}");
    let last: BTreeMap<_, _> = read.into_iter().collect();
    // What was appended after the read began may be missing, such as a message behind the last one that was on its way.
    for (writer, begun) in writers.iter().zip(begun) {
        let found = last.get(&writer.key).copied();
        assert!(begun <= found && found <= sequence_of(writer), "{}: {found:?}", writer.key.conversation);
    }
}

/// The sequence of a writer's last commit.
fn sequence_of(writer: &Writer) -> Option<Sequence> {
    writer.head.as_ref().map(|(_, sequence)| *sequence)
}
