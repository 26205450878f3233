//! Erasures that race with a writer of segments: erased content is in no object, or in one that the catalogue names.
#![cfg(test)]

mod conversations;
mod hibernation;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use archive::segment::{ArchivedMessage, Origin, encode};
use archive::{Archive, ArchiveError, CataloguedSegment, Draft, LastCommits, Store, StoreUrl};
use bytes::Bytes;
use conversations::{conversation, key, keys};
use devstack::NatsServer;
use domain::{Partition, Sequence};
use event_log::{ArchiveEntry, ArchivedSegment, CatalogueError, Record, RecordConfig, Removal, TailBounds};
use futures::future::join_all;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use uuid::Uuid;

const NOW: &str = "2026-11-22T00:00:00Z";
const PARTITION: Partition = Partition(0);

struct TestArchive {
    server: NatsServer,
    folder: TempDir,
    archive: Archive,
    store: Store,
}

impl TestArchive {
    async fn start() -> Self {
        let server = devstack::test::nats().await;
        let config = RecordConfig { partitions: 1, ..RecordConfig::new(server.url()) };
        let record = Record::create(config).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let url = StoreUrl::parse(&format!("file://{}", folder.path().display())).unwrap();
        Self { archive: Archive::of(&record), store: Store::create(&url).unwrap(), folder, server }
    }

    /// Creates a conversation of three commits and returns its messages.
    async fn conversation(&self, id: &str) -> Vec<ArchivedMessage> {
        let notes = ["a note".to_owned(), "a note".to_owned()];
        conversation(self.archive.record(), id, &notes).await
    }

    async fn draft(&self) -> Draft {
        self.archive.draft(&self.store, PARTITION).await.unwrap()
    }

    fn files(&self) -> BTreeSet<PathBuf> {
        files(self.folder.path())
    }

    /// The sealed objects of the catalogue.
    async fn sealed(&self) -> BTreeSet<PathBuf> {
        let segments = self.archive.segments(None).await.unwrap();
        let objects = segments.into_iter().map(|one| one.sealed.object);
        objects.map(|name| self.folder.path().join(name)).collect()
    }

    /// A loose object of the catalogue.
    async fn loose(&self) -> Option<String> {
        let mut entries = self.archive.record().archive_entries(None).await.unwrap().into_iter();
        entries.find_map(|mut one| one.entry.loose.pop())
    }
}

fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path);
        }
    }
    found
}

fn is_superseded<T>(outcome: &Result<T, ArchiveError>) -> bool {
    let Err(ArchiveError::Catalogue(error)) = outcome else {
        return false;
    };
    matches!(error, CatalogueError::Superseded { .. })
}

#[tokio::test]
async fn an_erasure_prevents_sealing_and_removes_the_object() {
    let ground = TestArchive::start().await;
    let messages = ground.conversation("c").await;
    let draft = ground.draft().await;
    ground.archive.sweep(&keys("c")).await.unwrap();
    let sealed = draft.seal(&messages, NOW).await;
    assert!(is_superseded(&sealed), "{sealed:?}");
    assert_eq!(ground.files(), BTreeSet::new());

    // Its writer was killed during the write: the catalogue names its object, another erasure keeps the name, and the next
    // run removes the object.
    let left = ground.loose().await.expect("a named object");
    let of_another = object_of(&messages).await;
    for erasure in ["c", "other"] {
        ground.archive.sweep(&keys(erasure)).await.unwrap();
        assert_eq!(ground.loose().await.as_ref(), Some(&left));
    }
    ground.store.put(&left, of_another).await.unwrap();
    assert_eq!(ground.archive.find_archived(&keys("c")).await.unwrap(), keys("c"));
    assert_eq!(ground.archive.unknown_objects().await.unwrap(), []);
    assert_eq!(ground.archive.tidy(None).await.unwrap(), 1);
    assert_eq!(ground.files(), BTreeSet::new());
    let entries = ground.archive.record().archive_entries(None).await;
    assert_eq!(entries.unwrap(), []);
    assert_eq!(ground.archive.find_archived(&keys("c")).await.unwrap(), [].into());
}

/// The bytes of an intact object of these messages.
async fn object_of(messages: &[ArchivedMessage]) -> Bytes {
    let ground = TestArchive::start().await;
    let sealed = ground.draft().await.seal(messages, NOW).await.unwrap().sealed;
    ground.store.read_all(&sealed.object).await.unwrap()
}

#[tokio::test]
async fn a_segment_is_either_sealed_or_withdrawn() {
    let ground = TestArchive::start().await;
    for n in 0..8 {
        let messages = ground.conversation(&format!("c-{n}")).await;
        let draft = ground.draft().await;
        // An erasure of another conversation keeps sealed segments.
        let other = keys("other");
        let erasure = ground.archive.sweep(&other);
        let (sealed, swept) = tokio::join!(draft.seal(&messages, NOW), erasure);
        swept.unwrap();
        assert!(sealed.is_ok() || is_superseded(&sealed), "{sealed:?}");
        if let Ok(segment) = sealed {
            ground.archive.load(&segment).await.unwrap();
        }
    }
    assert_eq!(ground.files(), ground.sealed().await);
}

#[tokio::test]
async fn racing_erasures_of_a_segment_leave_no_unknown_object() {
    let ground = TestArchive::start().await;
    let ids: Vec<String> = (0..6).map(|n| format!("c-{n}")).collect();
    let mut messages = Vec::new();
    for id in ids.iter().chain([&"kept".to_owned()]) {
        messages.extend(ground.conversation(id).await);
    }
    ground.draft().await.seal(&messages, NOW).await.unwrap();
    let erasures: Vec<_> = ids.iter().map(|id| keys(id)).collect();
    let met = join_all(erasures.iter().map(|keys| ground.archive.sweep(keys))).await;
    assert!(met.iter().any(is_superseded), "no race happened: {met:?}");
    for keys in &erasures {
        ground.archive.sweep(keys).await.unwrap();
    }
    assert_eq!(ground.archive.unknown_objects().await.unwrap(), []);
    assert_eq!(ground.files(), ground.sealed().await);
    let segments = ground.archive.segments(None).await.unwrap();
    assert_eq!((segments.len(), segments[0].sealed.commits), (1, 3));
    ground.archive.tidy(None).await.unwrap();
    let entries = ground.archive.record().archive_entries(None).await.unwrap();
    assert!(entries.iter().all(|one| one.entry.loose.is_empty()));
}

/// Seals messages of the partition.
async fn sealed(ground: &TestArchive, messages: &[ArchivedMessage]) -> Result<CataloguedSegment, ArchiveError> {
    ground.draft().await.seal(messages, NOW).await
}

fn has_no_predecessor<T>(outcome: &Result<T, ArchiveError>) -> bool {
    let Err(ArchiveError::Unsealable(error)) = outcome else {
        return false;
    };
    error.to_string().contains("are in no earlier segment")
}

#[tokio::test]
async fn a_segment_continues_its_conversation_or_an_earlier_segment() {
    let ground = TestArchive::start().await;
    let messages = ground.conversation("c").await;
    let (first, rest) = messages.split_at(1);
    let late = sealed(&ground, rest).await;
    assert!(has_no_predecessor(&late), "{late:?}");
    sealed(&ground, first).await.unwrap();
    // First with a gap after the earlier segment, then without.
    let late = sealed(&ground, &rest[1..]).await;
    assert!(has_no_predecessor(&late), "{late:?}");
    sealed(&ground, rest).await.unwrap();
    // The same versions of another conversation are not a predecessor.
    let other = ground.conversation("other").await;
    let late = sealed(&ground, &other[1..]).await;
    assert!(has_no_predecessor(&late), "{late:?}");
}

#[tokio::test]
async fn trimming_removes_exactly_the_sealed_commits() {
    let ground = TestArchive::start().await;
    let (messages, other) = (ground.conversation("c").await, ground.conversation("other").await);
    let record = ground.archive.record();
    // A segment with only the second commit, as an earlier version could seal it.
    let segment = catalogued(&ground, &messages[1..2]).await;
    let trimmed = ground.archive.trim(segment, LastCommits::Keep, Removal::Overwrite).await.unwrap();
    assert_eq!((trimmed.commits, trimmed.unsealed), (1, vec![key("c")]));
    let late = key("c");
    let left: Vec<Sequence> = record
        .tail(&late, Sequence(0), TailBounds::default())
        .await
        .unwrap()
        .commits
        .into_iter()
        .map(|commit| commit.position.sequence)
        .collect();
    assert_eq!(left, [messages[0].sequence(), messages[2].sequence()]);
    // It stays untrimmed, and the next run reads it again.
    let again = ground.archive.segments(None).await.unwrap().remove(0);
    assert!(!again.sealed.is_trimmed);
    let trimmed = ground.archive.trim(again, LastCommits::Keep, Removal::Overwrite).await.unwrap();
    assert_eq!((trimmed.commits, trimmed.unsealed), (0, vec![key("c")]));

    let whole = sealed(&ground, &other[..2]).await.unwrap();
    let trimmed = ground.archive.trim(whole, LastCommits::Keep, Removal::Overwrite).await.unwrap();
    assert_eq!((trimmed.commits, trimmed.unsealed), (2, Vec::new()));
    assert_eq!(record.commits_of(&key("other")).await, Ok(1));
}

/// Puts a segment into the catalogue without the check of predecessors.
async fn catalogued(ground: &TestArchive, messages: &[ArchivedMessage]) -> CataloguedSegment {
    let segment = Uuid::now_v7();
    let origin = Origin { record: ground.archive.record().id(), partition: PARTITION, segment };
    let (bytes, index) = encode(origin, messages, &BTreeSet::new()).unwrap();
    let object = format!("late/{segment}.1.segment");
    ground.store.put(&object, bytes.clone().into()).await.unwrap();
    let sequences = (index.first().unwrap().0, index.last().unwrap().0);
    let entry = ArchiveEntry {
        segment,
        partition: PARTITION.0,
        store: ground.store.url().to_string(),
        sealed: Some(ArchivedSegment {
            object,
            sha256: hex::encode(Sha256::digest(&bytes)),
            size_bytes: u64::try_from(bytes.len()).unwrap(),
            first_sequence: sequences.0,
            last_sequence: sequences.1,
            conversations: 1,
            commits: index.messages(),
            events: index.events(),
            hibernated: 0,
            made_at: NOW.to_owned(),
            is_trimmed: false,
        }),
        loose: Vec::new(),
    };
    let record = ground.archive.record();
    record.put_archive_entry(&entry, None).await.unwrap();
    ground.archive.segments(None).await.unwrap().remove(0)
}
