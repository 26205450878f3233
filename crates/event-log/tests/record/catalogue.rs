//! The archive's catalogue, and trimming of archived commits.

use std::slice::from_ref;

use domain::{Partition, Sequence};
use event_log::{ArchiveEntry, ArchivedSegment, CatalogueError, CataloguedEntry, Record, Removal, TailBounds};
use uuid::Uuid;

use crate::support::{Writer, record_of_one};

fn entry(partition: u16) -> ArchiveEntry {
    ArchiveEntry {
        segment: Uuid::now_v7(),
        partition,
        store: "file:///srv/archive".to_owned(),
        sealed: None,
        loose: vec!["a".to_owned()],
    }
}

fn sealed(entry: &ArchiveEntry) -> ArchiveEntry {
    ArchiveEntry {
        sealed: Some(ArchivedSegment {
            object: "a".to_owned(),
            sha256: "00".to_owned(),
            size_bytes: 1,
            first_sequence: 1,
            last_sequence: 2,
            conversations: 1,
            commits: 2,
            events: 2,
            hibernated: 0,
            made_at: "2026-11-22T12:00:00Z".to_owned(),
            is_trimmed: false,
        }),
        loose: Vec::new(),
        ..entry.clone()
    }
}

async fn entries(record: &Record, partition: Option<u16>) -> Vec<CataloguedEntry> {
    record.archive_entries(partition.map(Partition)).await.unwrap()
}

#[tokio::test]
async fn changes_are_conditional_and_readers_see_the_last() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    record.ensure_archive().await.unwrap();
    assert_eq!(entries(&record, None).await, []);
    let (one, other) = (entry(0), entry(7));
    let written = record.put_archive_entry(&one, None).await.unwrap();
    let beside = record.put_archive_entry(&other, None).await.unwrap();
    assert_eq!(entries(&record, None).await, [written.clone(), beside.clone()]);
    assert_eq!(entries(&record, Some(7)).await, [beside]);
    for revision in [None, Some(Sequence(written.revision.0 + 1))] {
        let refused = record.put_archive_entry(&sealed(&one), revision).await;
        assert!(matches!(refused, Err(CatalogueError::Superseded { segment }) if segment == one.segment));
    }
    let one = sealed(&one);
    let changed = record.put_archive_entry(&one, Some(written.revision)).await.unwrap();
    assert_eq!(entries(&record, Some(0)).await, from_ref(&changed));
    // Removing a former revision keeps its successor.
    record.remove_archive_entry(&written).await.unwrap();
    assert_eq!(entries(&record, Some(0)).await, from_ref(&changed));
    record.remove_archive_entry(&changed).await.unwrap();
    assert_eq!(entries(&record, Some(0)).await, []);
    // A change with a removed revision is rejected.
    let late = record.put_archive_entry(&one, Some(changed.revision)).await;
    assert!(matches!(late, Err(CatalogueError::Superseded { .. })), "{late:?}");
}

#[tokio::test]
async fn trimming_removes_exactly_the_given_commits() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let (mut a, mut b) = (Writer::of("a"), Writer::of("b"));
    for text in ["one", "two", "three"] {
        a.append(&record, text).await;
        b.append(&record, text).await;
    }
    let all = record.timed_tail(&a.key, Sequence(0), TailBounds::default()).await.unwrap();
    assert_eq!((all.commits.len(), all.resume_after), (3, None));
    assert!(all.commits.is_sorted_by_key(|commit| commit.stored_at));
    assert_eq!(record.first_sequence(&a.key).await, Ok(Some(Sequence(1))));
    let (overwrite, delete) = (Removal::Overwrite, Removal::Delete);
    for (sequences, removal, gone) in [
        (&[][..], overwrite, 0),
        (&[3], overwrite, 1),
        (&[3], overwrite, 0),
        (&[3], delete, 0),
        (&[1, 3], delete, 1),
        (&[1, 3], delete, 0),
    ] {
        let sequences: Vec<Sequence> = sequences.iter().copied().map(Sequence).collect();
        let trimmed = record.trim(&a.key, &sequences, removal).await;
        assert_eq!(trimmed, Ok(gone), "{sequences:?} {removal:?}");
    }
    assert_eq!(record.first_sequence(&a.key).await, Ok(Some(Sequence(5))));
    a.append(&record, "four").await;
    let left: Vec<u64> = record
        .tail(&a.key, Sequence(0), TailBounds::default())
        .await
        .unwrap()
        .commits
        .iter()
        .map(|one| one.position.sequence.0)
        .collect();
    assert_eq!(left, [5, 7]);
    assert_eq!(record.commits_of(&b.key).await, Ok(3));
}
