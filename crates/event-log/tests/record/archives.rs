//! Snapshots of streams, taken during writes and restored on another server.

use bytes::Bytes;
use devstack::NatsServer;
use domain::{Partition, Sequence, Stage};
use event_log::{Record, Restore, RestoreError, StreamDescription, TailBounds};
use futures::stream;

use crate::support::{Writer, all_messages, config_of_one, noise, record_of_one};

/// The snapshot of a stream, in chunks.
async fn archive(record: &Record, name: &str) -> (StreamDescription, Vec<Bytes>) {
    let mut snapshot = record.snapshot(name).await.unwrap();
    let mut pieces = Vec::new();
    while let Some(piece) = snapshot.next().await.unwrap() {
        pieces.push(piece);
    }
    (snapshot.description, pieces)
}

async fn restoration_on(server: &NatsServer) -> Result<Restore, RestoreError> {
    Restore::prepare("a backup".to_owned(), config_of_one(server)).await
}

#[tokio::test]
async fn a_restored_record_has_every_message() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let mut writer = Writer::of("c");
    for _ in 0..60 {
        writer.append(&record, &noise(16 * 1024)).await;
    }
    let mut gone = Writer::of("gone");
    for _ in 0..3 {
        gone.append(&record, "x").await;
    }
    record.erase_before_last(&gone.key).await.unwrap();
    let before = all_messages(&server.url()).await;
    assert_eq!(
        record.stream_names(),
        ["HANSARD_0", "HANSARD_PARTS_0", "KV_HANSARD_restricted", "HANSARD_ARCHIVE", "KV_HANSARD_registry"]
    );

    let new = devstack::test::nats().await;
    let restoration = restoration_on(&new).await.unwrap();
    for name in record.stream_names() {
        let (description, pieces) = archive(&record, &name).await;
        if name == "HANSARD_0" {
            assert!(pieces.len() > 2, "{}", pieces.len());
            assert_eq!((description.messages(), description.last_sequence()), (61, 63));
            // The snapshot excludes later commits.
            writer.append(&record, "late").await;
        }
        let pieces = stream::iter(pieces.into_iter().map(Ok));
        restoration.stream(&name, &description, pieces).await.unwrap();
    }
    let again = Record::open(config_of_one(&new)).await.unwrap();
    assert_eq!(again.id(), record.id());
    assert_eq!(all_messages(&new.url()).await, before);
    let keys = record.existing_receipt_keys().await.unwrap();
    assert_eq!(again.existing_receipt_keys().await.unwrap(), keys);

    // Appends continue where they were.
    let tail = again.tail(&writer.key, Sequence(59), TailBounds::default()).await.unwrap();
    writer.head = tail.commits.last().map(|last| (last.open_head().unwrap(), last.position.sequence));
    assert_eq!(writer.append(&again, "on").await, Sequence(64));
    let bounds = again.bounds_of(Partition(0)).await.unwrap();
    assert_eq!((bounds.first, bounds.last), (Sequence(1), Sequence(64)));
    check_occupied(&new).await;
}

async fn check_occupied(server: &NatsServer) {
    let occupied = restoration_on(server).await.map(drop);
    assert!(matches!(occupied, Err(RestoreError::Occupied { .. })), "{occupied:?}");
}

#[tokio::test]
async fn a_damaged_snapshot_is_rejected() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let mut writer = Writer::of("c");
    for _ in 0..20 {
        writer.append(&record, &noise(16 * 1024)).await;
    }
    let (description, mut pieces) = archive(&record, "HANSARD_0").await;
    pieces.pop();
    let new = devstack::test::nats().await;
    let restoration = restoration_on(&new).await.unwrap();
    let pieces = stream::iter(pieces.into_iter().map(Ok));
    let refused = restoration.stream("HANSARD_0", &description, pieces).await;
    assert!(matches!(refused, Err(RestoreError::Refused { .. })), "{refused:?}");
    assert!(record.snapshot("HANSARD_9").await.is_err());
}

#[tokio::test]
async fn an_interrupted_restore_is_continued() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    Writer::of("c").append(&record, "on").await;
    let before = all_messages(&server.url()).await;
    let new = devstack::test::nats().await;
    let names = record.stream_names();
    // One more stream each time, and the same ones again.
    for tried in 1..=names.len() {
        let restoration = restoration_on(&new).await.unwrap();
        assert_eq!(restoration.is_resumed(), tried > 1);
        let (description, _) = archive(&record, "HANSARD_0").await;
        restoration.begin(&description).await.unwrap();
        check_not_opened(&new).await;
        for name in names.iter().rev().take(tried) {
            let (description, pieces) = archive(&record, name).await;
            let pieces = stream::iter(pieces.into_iter().map(Ok));
            restoration.stream(name, &description, pieces).await.unwrap();
        }
        let another = Restore::prepare("another".to_owned(), config_of_one(&new)).await;
        let refused = another.map(drop);
        assert!(matches!(&refused, Err(RestoreError::OtherBackup { backup }) if backup == "a backup"), "{refused:?}");
    }
    assert_eq!(all_messages(&new.url()).await, before);
    check_not_opened(&new).await;
    let restoration = restoration_on(&new).await.unwrap();
    restoration.end().await.unwrap();
    assert_eq!(record_of_one(&new).await.id(), record.id());
    check_occupied(&new).await;
}

/// Until a restore has ended, no process creates or opens the record.
async fn check_not_opened(server: &NatsServer) {
    for outcome in [Record::create(config_of_one(server)).await, Record::open(config_of_one(server)).await] {
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains("an unfinished restore of a backup"), "{error}");
    }
}

/// The layout of a record that has grown is part of its backup.
#[tokio::test]
async fn a_restored_record_keeps_its_layout() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    record.announce_partitions(3, &[]).await.unwrap();
    while record.layout().stage() != Stage::Open {
        record.advance_layout().await.unwrap();
    }
    let mut writers: Vec<_> = (0..20).map(|n| Writer::of(&format!("c{n}"))).collect();
    for writer in &mut writers {
        writer.append(&record, "created").await;
    }
    let names = record.stream_names();
    // The catalogue and the registry are copied last.
    assert_eq!(names[7..], ["HANSARD_LAYOUT", "HANSARD_ARCHIVE", "KV_HANSARD_registry"]);
    let new = devstack::test::nats().await;
    let restoration = restoration_on(&new).await.unwrap();
    for name in names {
        let (description, pieces) = archive(&record, &name).await;
        let pieces = stream::iter(pieces.into_iter().map(Ok));
        restoration.stream(&name, &description, pieces).await.unwrap();
    }
    let again = Record::open(config_of_one(&new)).await.unwrap();
    assert_eq!(again.layout(), record.layout());
    for writer in &mut writers {
        let partition = record.partition_of(&writer.key).await;
        assert_eq!(again.partition_of(&writer.key).await, partition);
        writer.append(&again, "more").await;
    }
}
