//! Slow replies, within the timeout of a request and past it.

use std::time::Duration;

use archive::StoreError;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::bucket::{TestBucket, buckets, bytes_of};
use crate::proxy::{Fault, Operation};
use crate::retries::request;

const TIMEOUT: Duration = Duration::from_secs(2);
const SETTINGS: [(&str, &str); 1] = [("AWS_TIMEOUT", "2s")];

/// Reads and writes; they are repeated after a timeout.
const REPEATED: [Operation; 4] = [
    Operation::Put,
    Operation::Get,
    Operation::Head,
    Operation::List,
];

async fn with_object() -> [TestBucket; 2] {
    let buckets = buckets().await;
    for bucket in &buckets {
        bucket.store().put("a", bytes_of(10)).await.unwrap();
        bucket.proxy.reset();
    }
    buckets
}

#[tokio::test]
async fn a_reply_within_the_timeout_is_awaited() {
    for bucket in with_object().await {
        let store = bucket.store_with(&bucket.settings(&SETTINGS));
        for operation in REPEATED {
            bucket.proxy.reset();
            let late = Fault::Late(TIMEOUT / 8);
            bucket.proxy.inject(operation, 1, late);
            let started = Instant::now();
            request(&store, operation).await.unwrap();
            assert!(started.elapsed() >= TIMEOUT / 8);
            assert_eq!(bucket.proxy.count(operation), 1);
        }
    }
}

#[tokio::test]
async fn a_request_past_its_timeout_is_repeated() {
    let (_never, released) = watch::channel(false);
    for bucket in with_object().await {
        let store = bucket.store_with(&bucket.settings(&SETTINGS));
        for operation in REPEATED {
            bucket
                .proxy
                .inject(operation, 1, Fault::Held(released.clone()));
        }
        let started = Instant::now();
        let requests = REPEATED.map(|operation| request(&store, operation));
        for outcome in futures::future::join_all(requests).await {
            outcome.unwrap();
        }
        assert!(started.elapsed() >= TIMEOUT);
        for operation in REPEATED {
            assert_eq!(bucket.proxy.count(operation), 2, "{operation:?}");
        }
    }
}

#[tokio::test]
async fn requests_that_always_time_out_end_within_the_bounds() {
    let (_never, released) = watch::channel(false);
    for bucket in with_object().await {
        let mut settings = bucket.settings(&SETTINGS);
        settings.retries.count_max = 1;
        let store = bucket.store_with(&settings);
        for operation in REPEATED {
            let held = Fault::Held(released.clone());
            bucket.proxy.inject(operation, usize::MAX, held);
        }
        let started = Instant::now();
        let requests = REPEATED.map(|operation| request(&store, operation));
        for outcome in futures::future::join_all(requests).await {
            let failed = matches!(outcome, Err(StoreError::Failed { .. }));
            assert!(failed, "{outcome:?}");
        }
        assert!(started.elapsed() >= 2 * TIMEOUT);
        for operation in REPEATED {
            assert_eq!(bucket.proxy.count(operation), 2, "{operation:?}");
        }
    }
}

/// Its caller repeats it: every step of a sweep is idempotent.
#[tokio::test]
async fn a_deletion_past_its_timeout_is_an_error() {
    let (_never, released) = watch::channel(false);
    for bucket in with_object().await {
        let store = bucket.store_with(&bucket.settings(&SETTINGS));
        bucket
            .proxy
            .inject(Operation::Delete, 1, Fault::Held(released.clone()));
        let removed = store.remove("a").await;
        let failed = matches!(removed, Err(StoreError::Failed { .. }));
        assert!(failed, "{removed:?}");
        assert_eq!(bucket.proxy.count(Operation::Delete), 1);
        store.remove("a").await.unwrap();
        assert!(!store.exists("a").await.unwrap());
    }
}
