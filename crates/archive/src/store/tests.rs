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

/// The behaviour of every store.
async fn check_store(store: &Store) {
    let (name, other) = ("r/0/a.segment", "r/0/b.segment");
    let bytes = Bytes::from_static(b"0123456789");
    store.put(name, bytes).await.unwrap();
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
async fn folders_store_and_remove_objects() {
    let folder = tempfile::tempdir().unwrap();
    let url = StoreUrl::parse(&format!("file://{}/deep/archive", folder.path().display())).unwrap();
    assert!(Store::open(&url).is_err());
    let store = Store::create(&url).unwrap();
    check_store(&store).await;
    // A crash during a write leaves this file.
    let left = folder.path().join("deep/archive/r/0/a.segment#3");
    std::fs::write(&left, b"012").unwrap();
    store.remove("r/0/a.segment").await.unwrap();
    assert!(!left.exists());
}
