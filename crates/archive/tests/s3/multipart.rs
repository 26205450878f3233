//! Uploads in parts: sizes, aborts, checksums of parts.

use archive::segment::SEGMENT_BYTES;
use archive::{PART_BYTES, StoreError};
use tokio::sync::watch;

use crate::bucket::{TestBucket, buckets, bytes_of};
use crate::proxy::{Fault, Operation};

const RETRIES_MAX: usize = 10;

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

/// A step of an upload fails for good: the number of requests with the fault is enough for that.
async fn check_failure(bucket: &TestBucket, operation: Operation, faults: usize, fault: Fault) {
    bucket.proxy.reset();
    bucket.proxy.inject(operation, faults, fault);
    let store = bucket.store();
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
    let (creation, completion) = (Operation::CreateUpload, Operation::CompleteUpload);
    let attempts = RETRIES_MAX + 1;
    for bucket in buckets().await {
        check_failure(&bucket, creation, attempts, Fault::SlowDown).await;
        check_failure(&bucket, Operation::PutPart, 1, Fault::Denied).await;
        for fault in [
            Fault::SlowDown,
            Fault::CutRequest(PART_BYTES / 2),
            Fault::LostReply,
        ] {
            // Each part is sent again by itself.
            check_failure(&bucket, Operation::PutPart, usize::MAX, fault).await;
        }
        check_failure(&bucket, completion, 1, Fault::Denied).await;
        check_failure(&bucket, completion, attempts, Fault::SlowDown).await;
        // Nothing of the failed uploads is in the way.
        check_parts(&bucket, PART_BYTES + 1, 2).await;
    }
}

/// A server may store a part that arrives after the abort, and nothing would remove it.
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
        let (put, ()) = tokio::join!(store.put("a", bytes_of(8 * PART_BYTES)), released);
        assert!(matches!(put, Err(StoreError::Failed { .. })), "{put:?}");
        let parts = proxy.exchanges(Operation::PutPart);
        let replies = parts.iter().filter(|part| part.reply.is_some()).count();
        assert_eq!(replies, parts.len() - 1, "all but the denied one");
        // No part starts after the failure.
        assert!(parts.len() <= 4, "{}", parts.len());
        assert_eq!(bucket.unfinished_uploads().await, 0);
    }
}

/// The cause of a failed upload is returned, not the failure of its abort.
#[tokio::test]
async fn a_failed_abort_keeps_the_first_error() {
    for bucket in buckets().await {
        let store = bucket.store();
        bucket.proxy.inject(Operation::PutPart, 1, Fault::Denied);
        bucket
            .proxy
            .inject(Operation::AbortUpload, usize::MAX, Fault::SlowDown);
        let put = store.put("a", bytes_of(PART_BYTES + 1)).await;
        let Err(StoreError::Failed { source, .. }) = &put else {
            panic!("{put:?}");
        };
        assert!(source.to_string().contains("403"), "{source}");
        assert_eq!(bucket.proxy.count(Operation::AbortUpload), RETRIES_MAX + 1);
        assert_eq!(store.list("").await.unwrap(), [""; 0]);
    }
}

#[tokio::test]
async fn an_interrupted_part_is_sent_again() {
    for bucket in buckets().await {
        for fault in [
            Fault::SlowDown,
            Fault::CutRequest(0),
            Fault::CutRequest(PART_BYTES / 2),
            Fault::LostReply,
        ] {
            bucket.proxy.reset();
            bucket.proxy.inject(Operation::PutPart, 1, fault.clone());
            let (store, bytes) = (bucket.store(), bytes_of(2 * PART_BYTES));
            store.put("a", bytes.clone()).await.unwrap();
            assert!(store.read_all("a").await.unwrap() == bytes, "{fault:?}");
            assert_eq!(bucket.proxy.count(Operation::PutPart), 3, "{fault:?}");
            assert_eq!(bucket.proxy.count(Operation::AbortUpload), 0, "{fault:?}");
            store.remove("a").await.unwrap();
        }
    }
}
