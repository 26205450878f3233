//! Slow replies, within the timeout of a request and past it.

use std::time::Duration;

use archive::StoreError;
use futures::future::join_all;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::bucket::{TestBucket, buckets, bytes_of};
use crate::proxy::{Fault, Operation};
use crate::retries::request;

/// Longer than any reply without a fault.
const TIMEOUT: Duration = Duration::from_secs(4);
const SETTINGS: [(&str, &str); 1] = [("AWS_TIMEOUT", "4s")];

/// Reads and writes; they are repeated after a timeout.
const REPEATED: [Operation; 4] = [Operation::Put, Operation::Get, Operation::Head, Operation::List];

/// Checks a bucket of each server with an object, at the same time.
async fn in_each_server(check: impl AsyncFn(&TestBucket)) {
    let check = &check;
    let checks = buckets().await.map(async |bucket| {
        bucket.store().put("a", bytes_of(10)).await.unwrap();
        bucket.proxy.reset();
        check(&bucket).await;
    });
    join_all(checks).await;
}

/// Sends all requests at the same time, each with one retry at most.
async fn send_all(bucket: &TestBucket) -> Vec<Result<(), StoreError>> {
    let mut settings = bucket.settings(&SETTINGS);
    settings.retries.count_max = 1;
    let store = bucket.store_with(&settings);
    join_all(REPEATED.map(|operation| request(&store, operation))).await
}

#[tokio::test]
async fn a_reply_within_the_timeout_is_awaited() {
    in_each_server(async |bucket| {
        for operation in REPEATED {
            let late = Fault::Late(TIMEOUT / 8);
            bucket.proxy.inject(operation, 1, late);
        }
        let started = Instant::now();
        for outcome in send_all(bucket).await {
            outcome.unwrap();
        }
        assert!(started.elapsed() >= TIMEOUT / 8);
        for operation in REPEATED {
            assert_eq!(bucket.proxy.count(operation), 1, "{operation:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_request_past_its_timeout_is_repeated() {
    let (_never, released) = watch::channel(false);
    in_each_server(async |bucket| {
        for operation in REPEATED {
            let held = Fault::Held(released.clone());
            bucket.proxy.inject(operation, 1, held);
        }
        let started = Instant::now();
        for outcome in send_all(bucket).await {
            outcome.unwrap();
        }
        assert!(started.elapsed() >= TIMEOUT);
        for operation in REPEATED {
            assert_eq!(bucket.proxy.count(operation), 2, "{operation:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn requests_that_always_time_out_end_within_the_bounds() {
    let (_never, released) = watch::channel(false);
    in_each_server(async |bucket| {
        for operation in REPEATED {
            let held = Fault::Held(released.clone());
            bucket.proxy.inject(operation, usize::MAX, held);
        }
        let started = Instant::now();
        for outcome in send_all(bucket).await {
            let failed = matches!(outcome, Err(StoreError::Failed { .. }));
            assert!(failed, "{outcome:?}");
        }
        assert!(started.elapsed() >= 2 * TIMEOUT);
        for operation in REPEATED {
            assert_eq!(bucket.proxy.count(operation), 2, "{operation:?}");
        }
    })
    .await;
}

/// Its caller repeats it: every step of a sweep is idempotent.
#[tokio::test]
async fn a_deletion_past_its_timeout_is_an_error() {
    let (_never, released) = watch::channel(false);
    in_each_server(async |bucket| {
        let store = bucket.store_with(&bucket.settings(&SETTINGS));
        let held = Fault::Held(released.clone());
        bucket.proxy.inject(Operation::Delete, 1, held);
        let removed = store.remove("a").await;
        let failed = matches!(removed, Err(StoreError::Failed { .. }));
        assert!(failed, "{removed:?}");
        assert_eq!(bucket.proxy.count(Operation::Delete), 1);
        store.remove("a").await.unwrap();
        assert!(!store.exists("a").await.unwrap());
    })
    .await;
}
