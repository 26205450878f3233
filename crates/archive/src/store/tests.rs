//! Stores in folders.

use super::*;

fn check(url: &str, expected: Option<&str>) {
    let parsed = StoreUrl::parse(url).ok().map(|url| url.to_string());
    assert_eq!(parsed.as_deref(), expected, "{url}");
}

#[test]
fn urls_name_folders_and_buckets() {
    check("file:///srv/archive", Some("file:///srv/archive"));
    check("s3://bucket/some/prefix/", Some("s3://bucket/some/prefix"));
    check("s3://bucket", Some("s3://bucket"));
    for url in [
        "",
        "/srv",
        "file://srv",
        "file:relative",
        "file:///a%20b",
        "s3://",
        "s3:///x",
        "s3://key:secret@bucket",
        "http://x/y",
    ] {
        check(url, None);
    }
}

/// What every store does.
async fn check_store(store: &Store) {
    let (name, other) = ("r/0/a.segment", "r/0/b.segment");
    store
        .put(name, Bytes::from_static(b"0123456789"))
        .await
        .unwrap();
    store.put(other, Bytes::from_static(b"x")).await.unwrap();
    assert_eq!(store.size(name).await.unwrap(), 10);
    assert_eq!(store.read(name, 2..5).await.unwrap().as_ref(), b"234");
    assert_eq!(store.list("r").await.unwrap(), [name, other]);
    store.remove(name).await.unwrap();
    store.remove(name).await.unwrap();
    let gone = store.read_all(name).await;
    assert!(matches!(gone, Err(StoreError::Missing { .. })), "{gone:?}");
    assert_eq!(store.list("r").await.unwrap(), [other]);
    store.remove("nowhere/at/all").await.unwrap();
    store.remove(other).await.unwrap();
}

#[tokio::test]
async fn a_folder_holds_objects_and_nothing_of_what_was_removed() {
    let folder = tempfile::tempdir().unwrap();
    let url = StoreUrl::parse(&format!("file://{}/deep/archive", folder.path().display())).unwrap();
    assert!(Store::open(&url).is_err());
    let store = Store::create(&url).unwrap();
    check_store(&store).await;
    // What a crash in the middle of a write leaves.
    let left = folder.path().join("deep/archive/r/0/a.segment#3");
    std::fs::write(&left, b"012").unwrap();
    store.remove("r/0/a.segment").await.unwrap();
    assert!(!left.exists());
}

/// With an empty `S3_TEST_URL`, such as `s3://bucket/prefix`, and keys, region and endpoint as S3's own tools read them.
#[cfg(feature = "s3")]
#[tokio::test]
#[ignore = "wants a bucket"]
async fn a_bucket_holds_objects() {
    let url = std::env::var("S3_TEST_URL").unwrap();
    let store = Store::create(&StoreUrl::parse(&url).unwrap()).unwrap();
    check_store(&store).await;
}
