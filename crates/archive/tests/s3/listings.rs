//! Listings that are old: no segment is lost, reported or deleted because of one.

use archive::{ArchiveError, read_store};
use bytes::Bytes;
use tokio::sync::watch;
use uuid::Uuid;

use crate::archives::{TestArchive, archives};
use crate::conversations::{key, keys};
use crate::proxy::{Fault, Operation};

/// The reply to the last listing.
async fn listing(ground: &TestArchive) -> Bytes {
    ground.store.list("").await.unwrap();
    let listings = ground.bucket.proxy.exchanges(Operation::List);
    listings.last().unwrap().reply.clone().unwrap()
}

/// Replies to all further listings with this one.
fn replay(ground: &TestArchive, listing: Bytes) {
    ground.bucket.proxy.reset();
    let replaced = Fault::Replaced(listing);
    ground.bucket.proxy.inject(Operation::List, usize::MAX, replaced);
}

#[tokio::test]
async fn a_sealed_segment_is_read_although_listings_lack_it() {
    for ground in archives().await {
        let before = listing(&ground).await;
        let erased = ground.conversation("c").await;
        let kept = ground.conversation("kept").await;
        let both = [erased, kept.clone()].concat();
        let sealed = ground.seal(&both).await.unwrap();
        replay(&ground, before);
        assert_eq!(ground.store.list("").await.unwrap(), [""; 0]);
        assert_eq!(ground.read().await, both);
        assert_eq!(ground.archive.load(&sealed).await.unwrap().1, both);
        assert_eq!(ground.archive.check_reachable().await.unwrap(), 1);
        assert_eq!(ground.archive.unknown_objects().await.unwrap(), []);
        assert_eq!(ground.archive.adopt().await.unwrap(), 0);
        ground.archive.sweep(&keys("c")).await.unwrap();
        assert_eq!(ground.archive.tidy(None).await.unwrap(), 0);
        assert_eq!(ground.read().await, kept);
    }
}

#[tokio::test]
async fn a_listing_that_still_has_a_deleted_object_reports_and_fails_nothing() {
    for ground in archives().await {
        let erased = ground.conversation("c").await;
        let kept = ground.conversation("kept").await;
        ground.seal(&[erased, kept.clone()].concat()).await.unwrap();
        let before = listing(&ground).await;
        ground.archive.sweep(&keys("c")).await.unwrap();
        replay(&ground, before);
        assert_eq!(ground.store.list("").await.unwrap().len(), 1);
        ground.archive.sweep(&keys("c")).await.unwrap();
        ground.archive.tidy(None).await.unwrap();
        assert_eq!(ground.archive.unknown_objects().await.unwrap(), []);
        assert_eq!(ground.archive.adopt().await.unwrap(), 0);
        assert_eq!(ground.read().await, kept);
    }
}

/// An operator deletes unknown objects by hand: a segment that is sealed while the objects are listed must not be one.
#[tokio::test]
async fn a_segment_that_is_sealed_during_a_listing_is_not_unknown() {
    for ground in archives().await {
        let first = ground.conversation("c").await;
        ground.seal(&first).await.unwrap();
        let late = ground.conversation("late").await;
        let (release, released) = watch::channel(false);
        let proxy = &ground.bucket.proxy;
        proxy.inject(Operation::List, 1, Fault::Held(released));
        let sealing = async {
            proxy.wait_for_count(Operation::List, 1).await;
            ground.seal(&late).await.unwrap();
            release.send_replace(true);
        };
        let (unknown, ()) = tokio::join!(ground.archive.unknown_objects(), sealing);
        assert_eq!(unknown.unwrap(), []);
        assert_eq!(ground.read().await, [first, late].concat());
    }
}

#[tokio::test]
async fn unknown_objects_are_reported_and_never_deleted() {
    for ground in archives().await {
        let messages = ground.conversation("c").await;
        let sealed = ground.seal(&messages).await.unwrap();
        let (folder, _) = sealed.sealed.object.split_once('/').unwrap();
        let stray = format!("{folder}/0/stray.segment");
        ground.store.put(&stray, Bytes::from_static(b"x")).await.unwrap();
        ground.archive.tidy(None).await.unwrap();
        ground.archive.sweep(&keys("other")).await.unwrap();
        let unknown = ground.archive.unknown_objects().await.unwrap();
        assert_eq!(unknown, [(ground.bucket.url().to_string(), stray.clone())]);
        assert_eq!(ground.store.size(&stray).await.unwrap(), 1);
    }
}

/// A catalogue of a backup names an object that an erasure has replaced since.
#[tokio::test]
async fn a_restored_catalogue_adopts_the_object_in_spite_of_old_listings() {
    for ground in archives().await {
        let erased = ground.conversation("c").await;
        let kept = ground.conversation("kept").await;
        let sealed = ground.seal(&[erased, kept.clone()].concat()).await.unwrap();
        let before = listing(&ground).await;
        ground.archive.sweep(&keys("c")).await.unwrap();
        let after = listing(&ground).await;
        let record = ground.archive.record();
        let current = record.archive_entries(None).await.unwrap().remove(0);
        let old = sealed.catalogued.entry;
        record.put_archive_entry(&old, Some(current.revision)).await.unwrap();

        // The listing lacks the new object: nothing is adopted, and nothing is lost.
        replay(&ground, before);
        assert_eq!(ground.archive.adopt().await.unwrap(), 0);
        // The listing also has an object that was deleted.
        let new = current.entry.sealed.unwrap().object;
        replay(&ground, with_deleted(&after, &new, old.segment));
        assert_eq!(ground.archive.adopt().await.unwrap(), 1);
        assert_eq!(ground.read().await, kept);
    }
}

/// Without the record, the listing is all there is: a deleted object is an error, and no shorter history.
#[tokio::test]
async fn a_store_is_read_without_its_record_by_a_current_listing() {
    for ground in archives().await {
        let erased = ground.conversation("c").await;
        let kept = ground.conversation("kept").await;
        ground.seal(&[erased, kept.clone()].concat()).await.unwrap();
        let before = listing(&ground).await;
        ground.archive.sweep(&keys("c")).await.unwrap();
        let mut reader = read_store(&ground.store, &key("kept")).await.unwrap();
        for expected in &kept {
            assert_eq!(reader.next().await.unwrap().as_ref(), Some(expected));
        }
        assert_eq!(reader.next().await.unwrap(), None);
        replay(&ground, before);
        let read = read_store(&ground.store, &key("kept")).await;
        assert!(matches!(read, Err(ArchiveError::Unreachable { .. })), "{read:?}");
    }
}

/// The listing with an object before the others that does not exist.
fn with_deleted(listing: &Bytes, object: &str, segment: Uuid) -> Bytes {
    let text = std::str::from_utf8(listing).unwrap();
    let (first, last) = (text.find("<Contents>"), text.find("</Contents>"));
    let end = last.unwrap() + "</Contents>".len();
    let one = &text[first.unwrap()..end];
    let (folder, _) = object.rsplit_once('/').unwrap();
    let deleted = one.replace(object, &format!("{folder}/{segment}.0.segment"));
    assert_ne!(one, deleted);
    [&text[..end], &deleted, &text[end..]].concat().into()
}
