//! Objects of a bucket: the behaviour of every store.

use archive::{PART_BYTES, Store, StoreError, StoreUrl};
use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};

use crate::bucket::{buckets, bytes_of};
use crate::proxy::Operation;

/// Checks a store below a prefix without objects.
async fn check_store(store: &Store) {
    let (name, other) = ("r/0/a.segment", "r/0/b.segment");
    let bytes = Bytes::from_static(b"0123456789");
    store.put(name, bytes.clone()).await.unwrap();
    store.put(other, Bytes::new()).await.unwrap();
    assert_eq!(store.size(name).await.unwrap(), 10);
    assert_eq!(store.size(other).await.unwrap(), 0);
    for range in [0..1, 2..5, 9..10, 0..10] {
        let read = store.read(name, range.clone()).await.unwrap();
        let expected = usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap();
        assert_eq!(read, bytes[expected], "{range:?}");
    }
    assert_eq!(store.read_all(name).await.unwrap(), bytes);
    assert_eq!(store.read_all(other).await.unwrap(), Bytes::new());
    assert_eq!(store.list("r").await.unwrap(), [name, other]);
    assert_eq!(store.list("").await.unwrap(), [name, other]);
    assert_eq!(store.list("r/1").await.unwrap(), [""; 0]);
    store.remove(name).await.unwrap();
    store.remove(name).await.unwrap();
    for missing in
        [store.read_all(name).await, store.read(name, 0..1).await, store.size(name).await.map(|_| Bytes::new())]
    {
        assert!(matches!(&missing, Err(StoreError::Missing { object, .. }) if object == name), "{missing:?}");
    }
    assert_eq!(store.list("r").await.unwrap(), [other]);
    store.remove("nowhere/at/all").await.unwrap();
    store.remove(other).await.unwrap();
    assert_eq!(store.list("").await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn buckets_store_and_remove_objects() {
    for bucket in buckets().await {
        check_store(&bucket.store()).await;
    }
}

#[tokio::test]
async fn a_listing_has_every_page() {
    // A page of S3 has at most 1,000 names.
    let names: Vec<String> = (0..1_001).map(|n| format!("r/{n:04}.segment")).collect();
    for bucket in buckets().await {
        let store = bucket.store();
        let puts =
            stream::iter(&names).map(|name| store.put(name, Bytes::new())).buffer_unordered(16).try_collect::<()>();
        puts.await.unwrap();
        assert_eq!(store.list("r").await.unwrap(), names, "{:?}", bucket.kind);
        assert_eq!(bucket.proxy.count(Operation::List), 2);
    }
}

/// Needs an empty prefix in `S3_TEST_URL`, such as `s3://bucket/prefix`, and the variables of the S3 tools.
#[tokio::test]
#[ignore = "needs a bucket"]
async fn the_bucket_of_the_environment_stores_and_removes_objects() {
    let url = std::env::var("S3_TEST_URL").unwrap();
    let store = Store::open(&StoreUrl::parse(&url).unwrap()).unwrap();
    check_store(&store).await;
    let large = bytes_of(PART_BYTES + 1);
    store.put("large", large.clone()).await.unwrap();
    assert_eq!(store.read_all("large").await.unwrap(), large);
    store.remove("large").await.unwrap();
}

/// Only `s3s-fs` checks signatures.
#[tokio::test]
async fn a_wrong_key_is_an_error_of_the_store() {
    let [bucket, _] = buckets().await;
    let settings = bucket.settings(&[("AWS_SECRET_ACCESS_KEY", "wrong")]);
    let store = bucket.store_with(&settings);
    for failure in [
        store.put("a", Bytes::from_static(b"x")).await,
        store.read_all("a").await.map(drop),
        store.size("a").await.map(drop),
        store.list("").await.map(drop),
        store.remove("a").await,
    ] {
        assert!(matches!(failure, Err(StoreError::Failed { .. })), "{failure:?}");
    }
    // A rejected request is not repeated.
    assert_eq!(bucket.proxy.count(Operation::Put), 1);
}

/// Only `moto` does not create the bucket.
#[tokio::test]
async fn a_missing_bucket_is_an_error_of_the_write() {
    let [_, bucket] = buckets().await;
    let url = StoreUrl::parse("s3://no-such-bucket/x").unwrap();
    let store = Store::open_with(&url, &bucket.settings(&[])).unwrap();
    for length in [1, PART_BYTES + 1] {
        let put = store.put("a", bytes_of(length)).await;
        assert!(matches!(put, Err(StoreError::Failed { .. })), "{put:?}");
    }
}
