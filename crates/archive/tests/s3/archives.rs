//! Archives with their segments in a bucket.

use std::collections::BTreeSet;

use archive::segment::ArchivedMessage;
use archive::{Archive, ArchiveError, CataloguedSegment, LastCommits, PART_BYTES, Store};
use devstack::NatsServer;
use domain::{Partition, Sequence};
use event_log::{Record, RecordConfig, Removal};
use sha2::{Digest as _, Sha256};

use crate::bucket::{TestBucket, buckets, bytes_of};
use crate::conversations::{conversation, key, keys};
use crate::proxy::{Fault, Operation};

const NOW: &str = "2026-11-22T00:00:00Z";
const PARTITION: Partition = Partition(0);

/// A record with its archive in a bucket.
pub(crate) struct TestArchive {
    _server: NatsServer,
    pub(crate) bucket: TestBucket,
    pub(crate) archive: Archive,
    pub(crate) store: Store,
}

/// An archive in each server.
pub(crate) async fn archives() -> Vec<TestArchive> {
    let mut archives = Vec::new();
    for bucket in buckets().await {
        archives.push(TestArchive::in_bucket(bucket).await);
    }
    archives
}

impl TestArchive {
    pub(crate) async fn in_bucket(bucket: TestBucket) -> Self {
        let server = devstack::test::nats().await;
        let config = RecordConfig { partitions: 1, ..RecordConfig::new(server.url()) };
        let record = Record::create(config).await.unwrap();
        Self {
            archive: Archive::of(&record).with_s3(bucket.settings(&[])),
            store: bucket.store(),
            bucket,
            _server: server,
        }
    }

    /// Creates a conversation of three commits and returns its messages.
    pub(crate) async fn conversation(&self, id: &str) -> Vec<ArchivedMessage> {
        let notes = ["a note".to_owned(), "another note".to_owned()];
        conversation(self.archive.record(), id, &notes).await
    }

    pub(crate) async fn seal(&self, messages: &[ArchivedMessage]) -> Result<CataloguedSegment, ArchiveError> {
        let draft = self.archive.draft(&self.store, PARTITION).await.unwrap();
        draft.seal(messages, NOW).await
    }

    /// The archived messages of the partition, by the catalogue.
    pub(crate) async fn read(&self) -> Vec<ArchivedMessage> {
        let mut reader = self.archive.read(PARTITION, Sequence(0)).await.unwrap();
        let mut read = Vec::new();
        while let Some(message) = reader.next().await.unwrap() {
            read.push(message);
        }
        read
    }

    /// The objects that the catalogue names, sealed or loose.
    async fn catalogued(&self) -> BTreeSet<String> {
        let entries = self.archive.record().archive_entries(None).await;
        let names = entries.unwrap().into_iter().flat_map(|one| {
            let sealed = one.entry.sealed.map(|sealed| sealed.object);
            sealed.into_iter().chain(one.entry.loose)
        });
        names.collect()
    }

    /// The objects of segments in the bucket.
    async fn stored(&self) -> BTreeSet<String> {
        let names = self.store.list("").await.unwrap().into_iter();
        // Markers of emptied segments stay.
        names.filter(|name| name.ends_with(".segment")).collect()
    }
}

#[tokio::test]
async fn segments_are_sealed_read_and_swept() {
    for ground in archives().await {
        let erased = ground.conversation("c").await;
        let kept = ground.conversation("kept").await;
        let sealed = ground.seal(&[erased, kept.clone()].concat()).await.unwrap();
        let bytes = ground.store.read_all(&sealed.sealed.object).await.unwrap();
        assert_eq!(sealed.sealed.sha256, hex::encode(Sha256::digest(&bytes)));
        assert_eq!(ground.read().await.len(), 6);
        assert_eq!(ground.archive.check_reachable().await.unwrap(), 1);

        let swept = ground.archive.sweep(&keys("c")).await.unwrap();
        assert_eq!((swept.segments, swept.commits), (1, 3));
        assert_eq!(ground.read().await, kept);
        assert_eq!(ground.stored().await, ground.catalogued().await);
        let trimmed = {
            let segment = ground.archive.segments(None).await.unwrap().remove(0);
            ground.archive.trim(segment, LastCommits::Keep, Removal::Overwrite).await.unwrap()
        };
        // The record keeps the last commit: a segment with it is not trimmed.
        assert_eq!((trimmed.commits, trimmed.kept), (0, vec![key("kept")]));
    }
}

/// A conversation whose segment is larger than a part.
pub(crate) async fn large_conversation(ground: &TestArchive) -> Vec<ArchivedMessage> {
    let bytes = bytes_of(PART_BYTES + PART_BYTES / 4);
    let notes: Vec<String> = bytes.chunks(PART_BYTES / 64).map(hex::encode).collect();
    conversation(ground.archive.record(), "large", &notes).await
}

#[tokio::test]
async fn a_large_segment_is_sealed_and_read() {
    for ground in archives().await {
        let messages = large_conversation(&ground).await;
        let sealed = ground.seal(&messages).await.unwrap();
        let part_bytes = u64::try_from(PART_BYTES).unwrap();
        assert!(sealed.sealed.size_bytes > part_bytes);
        assert_eq!(ground.bucket.proxy.count(Operation::PutPart), 2);
        assert!(ground.read().await == messages);
        let (_, loaded) = ground.archive.load(&sealed).await.unwrap();
        assert!(loaded == messages);

        // Another writer fails: nothing of it is sealed or stored.
        ground.bucket.proxy.reset();
        let denied = Fault::Denied;
        ground.bucket.proxy.inject(Operation::PutPart, 1, denied);
        let failed = ground.seal(&messages).await;
        assert!(matches!(failed, Err(ArchiveError::Store(_))), "{failed:?}");
        assert_eq!(ground.bucket.unfinished_uploads().await, 0);
        assert_eq!(ground.stored().await, [sealed.sealed.object].into());
        assert_eq!(ground.archive.tidy(None).await.unwrap(), 1);
        assert_eq!(ground.stored().await, ground.catalogued().await);
    }
}

/// A failed write seals nothing, leaves no object, and the next attempt succeeds.
#[tokio::test]
async fn a_failed_write_seals_nothing() {
    for ground in archives().await {
        let messages = ground.conversation("c").await;
        for (operation, fault) in [
            (Operation::Put, Fault::Denied),
            (Operation::Put, Fault::SlowDown),
            (Operation::Put, Fault::CutRequest(10)),
            (Operation::Put, Fault::LostReply),
            (Operation::Get, Fault::SlowDown),
            (Operation::Get, Fault::CutReply(10)),
        ] {
            ground.bucket.proxy.reset();
            ground.bucket.proxy.inject(operation, usize::MAX, fault.clone());
            let sealed = ground.seal(&messages).await;
            let what = format!("{operation:?}, {fault:?}: {sealed:?}");
            assert!(matches!(sealed, Err(ArchiveError::Store(_))), "{what}");
            assert!(ground.archive.segments(None).await.unwrap().is_empty());
            assert_eq!(ground.stored().await, [].into(), "{what}");
        }
        ground.bucket.proxy.reset();
        ground.seal(&messages).await.unwrap();
        assert_eq!(ground.read().await, messages);
        assert_eq!(ground.archive.tidy(None).await.unwrap(), 6);
        assert_eq!(ground.stored().await, ground.catalogued().await);
    }
}

#[tokio::test]
async fn other_bytes_than_were_written_are_detected() {
    for ground in archives().await {
        let messages = ground.conversation("c").await;
        let proxy = &ground.bucket.proxy;
        proxy.inject(Operation::Get, 1, Fault::FlippedBit);
        let sealed = ground.seal(&messages).await;
        assert!(matches!(sealed, Err(ArchiveError::Unfaithful { .. })), "{sealed:?}");
        assert_eq!(ground.stored().await, [].into());

        let sealed = ground.seal(&messages).await.unwrap();
        proxy.inject(Operation::Get, 1, Fault::FlippedBit);
        let loaded = ground.archive.load(&sealed).await;
        assert!(matches!(loaded, Err(ArchiveError::Corrupt { .. })), "{loaded:?}");
        assert_eq!(ground.archive.load(&sealed).await.unwrap().1, messages);
    }
}

/// An erasure that cannot remove the former object fails, and succeeds when it is called again.
#[tokio::test]
async fn an_interrupted_sweep_is_finished_by_the_next() {
    for ground in archives().await {
        let erased = ground.conversation("c").await;
        let kept = ground.conversation("kept").await;
        for (operation, fault) in [
            (Operation::Put, Fault::SlowDown),
            (Operation::Delete, Fault::SlowDown),
            (Operation::Delete, Fault::LostReply),
            (Operation::Delete, Fault::Denied),
        ] {
            ground.bucket.proxy.reset();
            let both = [erased.clone(), kept.clone()].concat();
            let sealed = ground.seal(&both).await.unwrap();
            let proxy = &ground.bucket.proxy;
            proxy.inject(operation, usize::MAX, fault.clone());
            let swept = ground.archive.sweep(&keys("c")).await;
            let what = format!("{operation:?}, {fault:?}: {swept:?}");
            assert!(swept.is_err(), "{what}");
            proxy.reset();
            // Erased content is found until it is removed, or it is gone.
            ground.archive.sweep(&keys("c")).await.unwrap();
            let found = ground.archive.find_archived(&keys("c")).await;
            assert_eq!(found.unwrap(), [].into(), "{what}");
            ground.archive.tidy(None).await.unwrap();
            assert!(!ground.stored().await.contains(&sealed.sealed.object));
            assert_eq!(ground.stored().await, ground.catalogued().await, "{what}");
            // The next case starts without a segment.
            ground.archive.sweep(&keys("kept")).await.unwrap();
            ground.archive.tidy(None).await.unwrap();
        }
    }
}
