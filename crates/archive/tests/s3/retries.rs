//! Faults of single requests: what is repeated, how often, and the error at the end.

use std::time::Duration;

use archive::{Retries, S3Settings, Store, StoreError};
use bytes::Bytes;

use crate::bucket::{TestBucket, buckets, bytes_of};
use crate::proxy::{Fault, Operation};

/// The operations of a store, each with its request.
const REQUESTS: [Operation; 6] =
    [Operation::Put, Operation::Get, Operation::Head, Operation::List, Operation::ListUploads, Operation::Delete];
const BYTES: usize = 100_000;

/// Sends the request once, as the store does.
pub(crate) async fn request(store: &Store, operation: Operation) -> Result<(), StoreError> {
    match operation {
        Operation::Put => store.put("b", bytes_of(BYTES)).await,
        Operation::Get => store.read_all("a").await.map(drop),
        Operation::Head => store.size("a").await.map(drop),
        Operation::List => store.list("").await.map(drop),
        Operation::Delete | Operation::ListUploads => store.remove("b").await,
        Operation::CreateUpload | Operation::PutPart | Operation::CompleteUpload | Operation::AbortUpload => {
            panic!("a part of an upload: {operation:?}")
        }
    }
}

/// Injects a fault into this many requests, and checks how many there were and whether the last one succeeded.
async fn check(
    (bucket, settings): (&TestBucket, &S3Settings),
    (operation, fault): (Operation, Fault),
    faults: usize,
    (requests, succeeds): (usize, bool),
) {
    bucket.proxy.reset();
    bucket.proxy.inject(operation, faults, fault.clone());
    let outcome = request(&bucket.store_with(settings), operation).await;
    let what = format!("{:?}, {operation:?}, {fault:?}: {outcome:?}", bucket.kind);
    assert_eq!(bucket.proxy.count(operation), requests, "{what}");
    assert_eq!(outcome.is_ok(), succeeds, "{what}");
    if let Err(error) = outcome {
        assert!(matches!(error, StoreError::Failed { .. }), "{what}");
    }
}

async fn with_object() -> [TestBucket; 2] {
    let buckets = buckets().await;
    for bucket in &buckets {
        bucket.store().put("a", bytes_of(BYTES)).await.unwrap();
    }
    buckets
}

#[tokio::test]
async fn requests_are_repeated_up_to_the_bound() {
    let bound = Retries::default().count_max;
    assert_eq!(bound, 10);
    for bucket in with_object().await {
        let with = (&bucket, &bucket.settings(&[]));
        for operation in REQUESTS {
            let slow_down = (operation, Fault::SlowDown);
            check(with, slow_down.clone(), 1, (2, true)).await;
            check(with, slow_down.clone(), bound, (bound + 1, true)).await;
            check(with, slow_down.clone(), bound + 1, (bound + 1, false)).await;
            check(with, slow_down, usize::MAX, (bound + 1, false)).await;
            // Repeating would not help.
            check(with, (operation, Fault::Denied), usize::MAX, (1, false)).await;
        }
    }
}

#[tokio::test]
async fn requests_with_lost_replies_are_repeated() {
    for bucket in with_object().await {
        let with = (&bucket, &bucket.settings(&[]));
        for operation in REQUESTS {
            check(with, (operation, Fault::LostReply), 1, (2, true)).await;
        }
        check(with, (Operation::Put, Fault::CutRequest(0)), 1, (2, true)).await;
        let half = Fault::CutRequest(BYTES / 2);
        check(with, (Operation::Put, half.clone()), 1, (2, true)).await;
        let bound = Retries::default().count_max;
        check(with, (Operation::Put, half), usize::MAX, (bound + 1, false)).await;
    }
}

#[tokio::test]
async fn no_retry_starts_after_the_bound_of_time() {
    assert_eq!(Retries::default().elapsed_max, Duration::from_mins(3));
    for bucket in with_object().await {
        let mut settings = bucket.settings(&[]);
        settings.retries.count_max = usize::MAX;
        settings.retries.elapsed_max = Duration::ZERO;
        for operation in REQUESTS {
            let slow_down = (operation, Fault::SlowDown);
            check((&bucket, &settings), slow_down, usize::MAX, (1, false)).await;
        }
        // However many retries there are, the bound ends them.
        settings.retries.elapsed_max = Duration::from_millis(200);
        bucket.proxy.reset();
        bucket.proxy.inject(Operation::Get, usize::MAX, Fault::SlowDown);
        let read = request(&bucket.store_with(&settings), Operation::Get).await;
        assert!(matches!(read, Err(StoreError::Failed { .. })), "{read:?}");
    }
}

#[tokio::test]
async fn a_failure_names_its_cause() {
    for bucket in with_object().await {
        bucket.proxy.inject(Operation::Get, usize::MAX, Fault::SlowDown);
        let error = request(&bucket.store(), Operation::Get).await.unwrap_err();
        let url = bucket.url();
        assert_eq!(error.to_string(), format!("the store {url} could not read a"));
        let StoreError::Failed { source, .. } = error else {
            panic!("{error:?}");
        };
        let cause = source.to_string();
        for part in ["after 10 retries", "503", "SlowDown"] {
            assert!(cause.contains(part), "{cause}");
        }
    }
}

#[tokio::test]
async fn a_reply_that_breaks_off_is_continued() {
    let bytes = bytes_of(BYTES);
    for bucket in with_object().await {
        for (range, sent, rest) in
            [(None, 30_000, "bytes=30000-99999"), (Some(10..90_000), 30_000, "bytes=30010-89999")]
        {
            bucket.proxy.reset();
            bucket.proxy.inject(Operation::Get, 1, Fault::CutReply(sent));
            let store = bucket.store();
            let (read, expected) = match range {
                None => (store.read_all("a").await, bytes.clone()),
                Some(range) => (store.read("a", range).await, bytes.slice(10..90_000)),
            };
            let what = format!("{:?}", bucket.kind);
            assert!(read.unwrap() == expected, "{what}");
            let gets = bucket.proxy.exchanges(Operation::Get);
            assert_eq!(gets.len(), 2, "{what}");
            assert_eq!(gets[1].header("range"), Some(rest), "{what}");
        }
    }
}

#[tokio::test]
async fn replies_that_always_break_off_are_an_error() {
    let bound = Retries::default().count_max;
    for bucket in with_object().await {
        let with = (&bucket, &bucket.settings(&[]));
        let cut = (Operation::Get, Fault::CutReply(0));
        check(with, cut.clone(), bound, (bound + 1, true)).await;
        check(with, cut, usize::MAX, (bound + 1, false)).await;
    }
}

/// An object that was replaced between two parts of a reply is not mixed with its predecessor.
#[tokio::test]
async fn a_continued_reply_is_of_the_same_object() {
    for bucket in with_object().await {
        bucket.proxy.inject(Operation::Get, 1, Fault::CutReply(30_000));
        let (release, released) = tokio::sync::watch::channel(false);
        bucket.proxy.inject(Operation::Get, 1, Fault::Held(released));
        let store = bucket.store();
        let replaced = async {
            bucket.proxy.wait_for_count(Operation::Get, 2).await;
            let other = Bytes::from(vec![7; BYTES]);
            store.put("a", other).await.unwrap();
            release.send_replace(true);
        };
        let (read, ()) = tokio::join!(store.read_all("a"), replaced);
        assert!(matches!(read, Err(StoreError::Failed { .. })), "{read:?}");
    }
}
