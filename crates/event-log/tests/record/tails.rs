//! Reads of a conversation's commits.

use domain::{CommitId, Position, Sequence, Timestamp};
use event_log::{Record, TailBounds};
use uuid::Uuid;

use crate::support::{Writer, record_of_one};

/// Three conversations with 30 interleaved commits each.
async fn interleaved(record: &Record) -> [Writer; 3] {
    let mut writers = ["a", "b", "c"].map(Writer::of);
    for number in 0..30 {
        for writer in &mut writers {
            writer.append(record, &number.to_string()).await;
        }
    }
    writers
}

async fn check(record: &Record, writer: &Writer, after: u64, bounds: TailBounds, tail: (&[u64], bool)) {
    let read = record.tail(&writer.key, Sequence(after), bounds).await.unwrap();
    let sequences: Vec<u64> = read.commits.iter().map(|c| c.position.sequence.0).collect();
    assert_eq!(sequences, tail.0, "after {after}, {bounds:?}");
    let resume_after = tail.0.last().copied().filter(|_| tail.1).map(Sequence);
    assert_eq!(read.resume_after, resume_after, "after {after}, {bounds:?}");
}

#[tokio::test]
async fn tails_are_complete_ordered_and_bounded() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let [_, writer, _] = interleaved(&record).await;
    let all: Vec<u64> = (0..30).map(|n| 3 * n + 2).collect();
    let of = |commits_max, bytes_max| TailBounds { commits_max, bytes_max };
    let large = usize::MAX >> 8;
    check(&record, &writer, 0, TailBounds::default(), (&all, false)).await;
    check(&record, &writer, 0, of(30, large), (&all, false)).await;
    check(&record, &writer, 0, of(29, large), (&all[..29], true)).await;
    check(&record, &writer, 0, of(0, large), (&all[..1], true)).await;
    check(&record, &writer, 1, of(1, large), (&all[..1], true)).await;
    check(&record, &writer, 2, of(1, large), (&all[1..2], true)).await;
    check(&record, &writer, 86, of(1, large), (&all[29..], false)).await;
    check(&record, &writer, 88, of(9, large), (&all[29..], false)).await;
    check(&record, &writer, 89, of(9, large), (&[], false)).await;
    check(&record, &writer, 9_000, of(9, large), (&[], false)).await;
    check(&record, &writer, u64::MAX, of(9, large), (&[], false)).await;
    check(&record, &Writer::of("none"), 0, of(9, large), (&[], false)).await;

    let tail = record.tail(&writer.key, Sequence(0), TailBounds::default());
    let commits = tail.await.unwrap().commits;
    let sizes: Vec<usize> = commits.iter().map(|c| c.message.len()).collect();
    let two = sizes[0] + sizes[1];
    check(&record, &writer, 0, of(30, 0), (&all[..1], true)).await;
    check(&record, &writer, 0, of(30, two - 1), (&all[..1], true)).await;
}

#[tokio::test]
async fn small_bounds_read_all_commits() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let [_, _, writer] = interleaved(&record).await;
    let bounds = TailBounds { commits_max: 7, bytes_max: 3_000 };
    let (mut after, mut versions) = (Sequence(0), Vec::new());
    loop {
        let tail = record.tail(&writer.key, after, bounds).await.unwrap();
        let bytes: usize = tail.commits.iter().map(|c| c.message.len()).sum();
        assert!(tail.commits.len() <= 7 && (bytes <= 3_000 || tail.commits.len() == 1));
        for commit in &tail.commits {
            versions.push(commit.open_head().unwrap().version.0);
        }
        match tail.resume_after {
            Some(last) => after = last,
            None => break,
        }
    }
    assert_eq!(versions, (1..=30).collect::<Vec<_>>());
}

#[tokio::test]
async fn commits_are_found_by_id_and_by_position() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let mut writer = Writer::of("c");
    let mut ids = Vec::new();
    for number in 0..1_100 {
        let sealed = writer.seal(&number.to_string());
        ids.push(sealed.append.commit);
        let outcome = record.append(&writer.key, sealed.append.clone()).await;
        writer.advance(sealed, outcome);
    }
    let now = i64::try_from(time::OffsetDateTime::now_utc().unix_timestamp_nanos()).unwrap();
    let minute = 60_000_000_000;
    let find = async |writer: &Writer, id: CommitId, since: i64| {
        let found = record.find_commit(&writer.key, id, Timestamp(since), Sequence(0)).await;
        found.unwrap().map(|message| message.position.sequence.0)
    };
    for index in [0, 1, 999, 1_000, 1_099] {
        let sequence = Some(u64::try_from(index).unwrap() + 1);
        assert_eq!(find(&writer, ids[index], now - minute).await, sequence);
        assert_eq!(find(&writer, ids[index], 0).await, sequence);
        assert_eq!(find(&writer, ids[index], now + 6 * minute).await, None);
    }
    assert_eq!(find(&writer, CommitId(Uuid::now_v7()), 0).await, None);
    assert_eq!(find(&Writer::of("none"), ids[0], 0).await, None);
    // A replica that lacks the commit at the end of the search: the leader returns the rest, or the search is not complete.
    let unknown = CommitId(Uuid::now_v7());
    let lagging = async |since| {
        let end = Sequence(1_101);
        record.find_commit(&writer.key, unknown, Timestamp(since), end).await
    };
    assert_eq!(lagging(now - minute).await, Ok(None));
    assert!(lagging(now + 6 * minute).await.is_err());

    let at = |sequence| Position { partition: domain::Partition(0), sequence: Sequence(sequence) };
    let message = record.message_at(at(7)).await.unwrap().unwrap();
    assert_eq!(message.open().unwrap().opened.commit.id, ids[6]);
    assert_eq!(record.message_at(at(1_101)).await, Ok(None));
    assert_eq!(record.message_at(at(0)).await, Ok(None));
}

#[tokio::test]
async fn an_erasure_keeps_only_the_last_commit() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let [kept, mut erased, _] = interleaved(&record).await;
    for removed in [29, 0] {
        assert_eq!(record.erase_before_last(&erased.key).await, Ok(removed));
        check(&record, &erased, 0, TailBounds::default(), (&[89], false)).await;
    }
    let all: Vec<u64> = (0..30).map(|n| 3 * n + 1).collect();
    check(&record, &kept, 0, TailBounds::default(), (&all, false)).await;
    let bounds = record.bounds_of(domain::Partition(0)).await.unwrap();
    assert_eq!((bounds.first, bounds.last), (Sequence(1), Sequence(90)));
    // Appends continue after the erasure.
    assert_eq!(erased.append(&record, "more").await.0, 91);
    let unknown = Writer::of("none").key;
    record.erase_before_last(&unknown).await.unwrap();
}
