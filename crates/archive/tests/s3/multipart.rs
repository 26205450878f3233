//! Uploads in parts: sizes, aborts, checksums of parts.

use archive::segment::SEGMENT_BYTES;
use archive::{PART_BYTES, Store, StoreError};
use tokio::sync::watch;

use crate::archives::{TestArchive, large_conversation};
use crate::bucket::{TestBucket, buckets, bytes_of};
use crate::conversations::keys;
use crate::proxy::{Fault, Operation};

/// Retries of the tests whose requests all fail.
const RETRIES: usize = 1;

/// Writes an object of this size, reads it back, and checks the number of its parts; 0: one request without parts.
async fn check_parts(bucket: &TestBucket, length: usize, parts: usize) {
    bucket.proxy.reset();
    let (store, bytes) = (bucket.store(), bytes_of(length));
    store.put("a", bytes.clone()).await.unwrap();
    let size = store.size("a").await.unwrap();
    assert_eq!(usize::try_from(size), Ok(length));
    assert!(store.read_all("a").await.unwrap() == bytes, "{length}");
    let whole = usize::from(parts == 0);
    assert_eq!(bucket.proxy.count(Operation::Put), whole, "{length}");
    assert_eq!(bucket.proxy.count(Operation::PutPart), parts, "{length}");
    assert_eq!(bucket.proxy.count(Operation::AbortUpload), 0);
    assert_eq!(bucket.unfinished_uploads().await, 0);
}

#[tokio::test]
async fn larger_objects_are_uploaded_in_parts() {
    for bucket in buckets().await {
        for (length, parts) in [
            (PART_BYTES - 1, 0),
            (PART_BYTES, 0),
            (PART_BYTES + 1, 2),
            (2 * PART_BYTES, 2),
            (2 * PART_BYTES + 1, 3),
            (SEGMENT_BYTES, SEGMENT_BYTES / PART_BYTES),
        ] {
            check_parts(&bucket, length, parts).await;
        }
    }
}

fn store_with_retries(bucket: &TestBucket) -> Store {
    let mut settings = bucket.settings(&[]);
    settings.retries.count_max = RETRIES;
    bucket.store_with(&settings)
}

/// A step of an upload fails for good.
async fn check_failure(bucket: &TestBucket, operation: Operation, fault: Fault) {
    bucket.proxy.reset();
    bucket.proxy.inject(operation, usize::MAX, fault);
    let store = store_with_retries(bucket);
    let put = store.put("a", bytes_of(PART_BYTES + 1)).await;
    let what = format!("{:?}, {operation:?}: {put:?}", bucket.kind);
    assert!(matches!(put, Err(StoreError::Failed { .. })), "{what}");
    let aborts = usize::from(operation != Operation::CreateUpload);
    assert_eq!(bucket.proxy.count(Operation::AbortUpload), aborts, "{what}");
    assert_eq!(bucket.unfinished_uploads().await, 0, "{what}");
    assert_eq!(store.list("").await.unwrap(), [""; 0], "{what}");
}

#[tokio::test]
async fn a_failed_upload_is_aborted_and_leaves_nothing() {
    for bucket in buckets().await {
        check_failure(&bucket, Operation::CreateUpload, Fault::SlowDown).await;
        for fault in [Fault::Denied, Fault::SlowDown, Fault::CutRequest(PART_BYTES / 2), Fault::LostReply] {
            check_failure(&bucket, Operation::PutPart, fault).await;
        }
        check_failure(&bucket, Operation::CompleteUpload, Fault::Denied).await;
        check_failure(&bucket, Operation::CompleteUpload, Fault::SlowDown).await;
        // Nothing of the failed uploads is in the way.
        check_parts(&bucket, PART_BYTES + 1, 2).await;
    }
}

/// A server may store a part that arrives after the abort.
#[tokio::test]
async fn an_abort_waits_for_the_parts_that_are_on_their_way() {
    for bucket in buckets().await {
        let (release, released) = watch::channel(false);
        let proxy = &bucket.proxy;
        proxy.inject(Operation::PutPart, 1, Fault::Held(released));
        proxy.inject(Operation::PutPart, 1, Fault::Denied);
        let store = bucket.store();
        let released = async {
            proxy.wait_for_count(Operation::PutPart, 2).await;
            release.send_replace(true);
        };
        let put = store.put("a", bytes_of(PART_BYTES + 1));
        let (put, ()) = tokio::join!(put, released);
        assert!(matches!(put, Err(StoreError::Failed { .. })), "{put:?}");
        let parts = proxy.exchanges(Operation::PutPart);
        let replies = parts.iter().filter(|part| part.reply.is_some()).count();
        assert_eq!(replies, parts.len() - 1, "all but the denied one");
        assert_eq!(bucket.unfinished_uploads().await, 0);
    }
}

#[tokio::test]
async fn no_part_starts_after_a_failure() {
    for bucket in buckets().await {
        let proxy = &bucket.proxy;
        proxy.inject(Operation::PutPart, usize::MAX, Fault::Denied);
        let put = bucket.store().put("a", bytes_of(5 * PART_BYTES)).await;
        assert!(matches!(put, Err(StoreError::Failed { .. })), "{put:?}");
        assert_eq!(proxy.count(Operation::PutPart), 4);
    }
}

#[tokio::test]
async fn at_most_four_parts_are_on_their_way() {
    for bucket in buckets().await {
        let (release, released) = watch::channel(false);
        let proxy = &bucket.proxy;
        proxy.inject(Operation::PutPart, usize::MAX, Fault::Held(released));
        let store = bucket.store();
        let others = async {
            proxy.wait_for_count(Operation::PutPart, 4).await;
            // Other requests overtake the parts; a fifth part would as well.
            store.put("b", bytes_of(1)).await.unwrap();
            assert_eq!(proxy.count(Operation::PutPart), 4);
            release.send_replace(true);
        };
        let (put, ()) = tokio::join!(store.put("a", bytes_of(5 * PART_BYTES)), others);
        put.unwrap();
        assert_eq!(proxy.count(Operation::PutPart), 5);
    }
}

/// Starts an upload and kills it while a part is on its way.
async fn kill_upload<T>(bucket: &TestBucket, upload: impl Future<Output = T>) {
    let (_never, released) = watch::channel(false);
    bucket.proxy.inject(Operation::PutPart, 1, Fault::Held(released));
    let killed = async {
        // The other part is stored before.
        bucket.proxy.wait_for_reply(Operation::PutPart).await;
    };
    tokio::select! {
        _ = upload => panic!("it was not killed"),
        () = killed => {}
    }
    assert_eq!(bucket.proxy.count(Operation::AbortUpload), 0);
    assert_ne!(bucket.unfinished_uploads().await, 0);
}

/// The parts of a killed upload may have content that is erased later. Only `moto` can list them.
#[tokio::test]
async fn a_removal_aborts_the_unfinished_uploads_of_the_object() {
    let [_, bucket] = buckets().await;
    let store = bucket.store();
    kill_upload(&bucket, store.put("a", bytes_of(PART_BYTES + 1))).await;
    // Uploads of other objects go on.
    store.remove("b").await.unwrap();
    store.remove("a/b").await.unwrap();
    assert_eq!(bucket.unfinished_uploads().await, 1);
    store.remove("a").await.unwrap();
    assert_eq!(bucket.proxy.count(Operation::AbortUpload), 1);
    assert_eq!(bucket.unfinished_uploads().await, 0);
}

#[tokio::test]
async fn an_erasure_removes_the_parts_of_a_killed_run() {
    let [_, bucket] = buckets().await;
    let ground = TestArchive::in_bucket(bucket).await;
    let messages = large_conversation(&ground).await;
    kill_upload(&ground.bucket, ground.seal(&messages)).await;
    ground.archive.sweep(&keys("large")).await.unwrap();
    assert_eq!(ground.bucket.unfinished_uploads().await, 0);
    assert_eq!(ground.archive.tidy(None).await.unwrap(), 1);
}

/// The cause of a failed upload is returned, not the failure of its abort.
#[tokio::test]
async fn a_failed_abort_keeps_the_first_error() {
    for bucket in buckets().await {
        let store = store_with_retries(&bucket);
        bucket.proxy.inject(Operation::PutPart, 1, Fault::Denied);
        bucket.proxy.inject(Operation::AbortUpload, usize::MAX, Fault::SlowDown);
        let put = store.put("a", bytes_of(PART_BYTES + 1)).await;
        let Err(StoreError::Failed { source, .. }) = &put else {
            panic!("{put:?}");
        };
        assert!(source.to_string().contains("403"), "{source}");
        assert_eq!(bucket.proxy.count(Operation::AbortUpload), RETRIES + 1);
        assert_eq!(store.list("").await.unwrap(), [""; 0]);
    }
}

#[tokio::test]
async fn an_interrupted_part_is_sent_again() {
    for bucket in buckets().await {
        for fault in [Fault::SlowDown, Fault::CutRequest(0), Fault::CutRequest(PART_BYTES / 2), Fault::LostReply] {
            bucket.proxy.reset();
            bucket.proxy.inject(Operation::PutPart, 1, fault.clone());
            let (store, bytes) = (bucket.store(), bytes_of(PART_BYTES + 1));
            store.put("a", bytes.clone()).await.unwrap();
            assert!(store.read_all("a").await.unwrap() == bytes, "{fault:?}");
            assert_eq!(bucket.proxy.count(Operation::PutPart), 3, "{fault:?}");
            assert_eq!(bucket.proxy.count(Operation::AbortUpload), 0, "{fault:?}");
            store.remove("a").await.unwrap();
        }
    }
}
