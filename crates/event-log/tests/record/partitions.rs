//! The status of partitions, and the storage times of their messages.

use domain::{Partition, Sequence, Timestamp};
use event_log::{PartitionBounds, Record};

use crate::support::{Writer, record_of_one, until};

const ONLY: Partition = Partition(0);

/// Waits until later messages get another storage time.
async fn next_time() {
    let now = || time::OffsetDateTime::now_utc().unix_timestamp_nanos();
    let start = now();
    until("another moment", || async { now() > start + 2_000_000 }).await;
}

async fn check_next(record: &Record, after: u64, expected: Option<u64>) {
    let next = record.next_after(ONLY, Sequence(after)).await.unwrap();
    assert_eq!(next.map(|next| next.sequence.0), expected, "after {after}");
}

async fn check_since(record: &Record, since: i64, expected: Option<u64>) {
    let first = record.first_since(ONLY, Timestamp(since)).await.unwrap().map(|first| first.sequence.0);
    assert_eq!(first, expected, "since {since}");
}

#[tokio::test]
async fn gaps_are_counted_and_skipped() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let empty = record.partition_status(ONLY).await.unwrap();
    assert_eq!((empty.messages, empty.holes(), empty.trimmed()), (0, 0, 0));
    check_next(&record, 0, None).await;
    check_since(&record, 0, None).await;

    let (mut erased, mut other) = (Writer::of("a"), Writer::of("b"));
    for writer in [&mut other, &mut erased] {
        writer.append(&record, "first").await;
    }
    for _ in 0..3 {
        erased.append(&record, "more").await;
    }
    other.append(&record, "last").await;
    record.erase_before_last(&erased.key).await.unwrap();
    let status = record.partition_status(ONLY).await.unwrap();
    let bounds = PartitionBounds { first: Sequence(1), last: Sequence(6) };
    assert_eq!(status.bounds, bounds);
    assert_eq!((status.messages, status.holes()), (3, 3));
    assert!(status.size_bytes > 0);
    let replicas = status.replicas;
    assert_eq!((replicas.configured, replicas.behind.len()), (1, 0));
    for (after, expected) in [(0, 1), (1, 5), (4, 5), (5, 6)] {
        check_next(&record, after, Some(expected)).await;
    }
    check_next(&record, 6, None).await;
    check_next(&record, u64::MAX, None).await;
    record.erase_before_last(&other.key).await.unwrap();
    let status = record.partition_status(ONLY).await.unwrap();
    assert_eq!((status.holes(), status.trimmed()), (0, 4));
}

#[tokio::test]
async fn messages_are_found_by_their_times() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let mut writer = Writer::of("a");
    let mut times = Vec::new();
    for number in 0..3 {
        next_time().await;
        let at = writer.append(&record, &number.to_string()).await;
        let stored = record.next_after(ONLY, Sequence(at.0 - 1)).await.unwrap();
        times.push(stored.unwrap().stored_at.0);
    }
    check_since(&record, i64::MIN, Some(1)).await;
    check_since(&record, times[0], Some(1)).await;
    check_since(&record, times[0] + 1, Some(2)).await;
    check_since(&record, times[2], Some(3)).await;
    check_since(&record, times[2] + 1, None).await;
}
