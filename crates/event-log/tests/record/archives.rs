//! Archives of streams, taken under a writer and brought back on another server.

use bytes::Bytes;
use devstack::NatsServer;
use domain::{Partition, Sequence};
use event_log::{Record, RecordConfig, Restoration, RestoreError, StreamDescription, TailBounds};
use futures::stream;

use crate::support::{Writer, all_messages, config, noise, record_of_one};

/// The archive of a stream, in pieces.
async fn archive(record: &Record, name: &str) -> (StreamDescription, Vec<Bytes>) {
    let mut snapshot = record.snapshot(name).await.unwrap();
    let mut pieces = Vec::new();
    while let Some(piece) = snapshot.next().await.unwrap() {
        pieces.push(piece);
    }
    (snapshot.description, pieces)
}

fn of_one(server: &NatsServer) -> RecordConfig {
    RecordConfig {
        partitions: 1,
        ..config(&server.url())
    }
}

#[tokio::test]
async fn a_record_comes_back_message_by_message() {
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
        [
            "HANSARD_0",
            "HANSARD_PARTS_0",
            "HANSARD_ARCHIVE",
            "KV_HANSARD_registry"
        ]
    );

    let new = devstack::test::nats().await;
    let restoration = Restoration::on_empty_server(of_one(&new)).await.unwrap();
    for name in record.stream_names() {
        let (description, pieces) = archive(&record, &name).await;
        if name == "HANSARD_0" {
            assert!(pieces.len() > 2, "{}", pieces.len());
            assert_eq!(
                (description.messages(), description.last_sequence()),
                (61, 63)
            );
            // The archive is of a moment: what comes later is not in it.
            writer.append(&record, "late").await;
        }
        let pieces = stream::iter(pieces.into_iter().map(Ok));
        restoration
            .stream(&name, &description, pieces)
            .await
            .unwrap();
    }
    let again = Record::open(of_one(&new)).await.unwrap();
    assert_eq!(again.id(), record.id());
    assert_eq!(all_messages(&new.url()).await, before);
    assert_eq!(again.receipt_seed().await, again.receipt_seed().await);

    // It goes on where it was.
    let tail = again
        .tail(&writer.key, Sequence(59), TailBounds::default())
        .await
        .unwrap();
    writer.head = tail
        .commits
        .last()
        .map(|last| (last.open_head().unwrap(), last.position.sequence));
    assert_eq!(writer.append(&again, "on").await, Sequence(64));
    let bounds = again.bounds_of(Partition(0)).await.unwrap();
    assert_eq!((bounds.first, bounds.last), (Sequence(1), Sequence(64)));

    let occupied = Restoration::on_empty_server(of_one(&new)).await.map(drop);
    assert!(
        matches!(occupied, Err(RestoreError::Occupied { .. })),
        "{occupied:?}"
    );
}

#[tokio::test]
async fn a_damaged_archive_is_refused() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let mut writer = Writer::of("c");
    for _ in 0..20 {
        writer.append(&record, &noise(16 * 1024)).await;
    }
    let (description, mut pieces) = archive(&record, "HANSARD_0").await;
    pieces.pop();
    let new = devstack::test::nats().await;
    let restoration = Restoration::on_empty_server(of_one(&new)).await.unwrap();
    let pieces = stream::iter(pieces.into_iter().map(Ok));
    let refused = restoration.stream("HANSARD_0", &description, pieces).await;
    assert!(
        matches!(refused, Err(RestoreError::Refused { .. })),
        "{refused:?}"
    );
    assert!(record.snapshot("HANSARD_9").await.is_err());
}
