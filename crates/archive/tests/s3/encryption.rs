//! Headers of encryption and checksums.

use std::collections::BTreeMap;

use archive::PART_BYTES;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest as _, Sha256};

use crate::bucket::{TestBucket, buckets, bytes_of};
use crate::proxy::{Exchange, Operation};

const ENCRYPTION: &str = "x-amz-server-side-encryption";
const CHECKSUM: &str = "x-amz-checksum-sha256";
const CUSTOMER_KEY: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

/// The headers of encryption, by their names' ends.
fn encryption_of(exchange: &Exchange) -> BTreeMap<&str, &str> {
    let names = exchange.headers.keys().map(http::HeaderName::as_str);
    let ours = names.filter_map(|name| Some((name.strip_prefix(ENCRYPTION)?, name)));
    ours.map(|(end, name)| (end, exchange.header(name).unwrap())).collect()
}

/// Writes a small and a large object with these settings, and checks the headers of both.
async fn check_headers(bucket: &TestBucket, settings: &[(&str, &str)], expected: &[(&str, &str)]) {
    bucket.proxy.reset();
    let store = bucket.store_with(&bucket.settings(settings));
    let objects = [("small", bytes_of(3)), ("large", bytes_of(PART_BYTES + 1))];
    for (name, bytes) in objects {
        store.put(name, bytes.clone()).await.unwrap();
        assert!(store.read_all(name).await.unwrap() == bytes, "{settings:?}");
    }
    let expected: BTreeMap<&str, &str> = expected.iter().copied().collect();
    for operation in [Operation::Put, Operation::CreateUpload] {
        let exchanges = bucket.proxy.exchanges(operation);
        assert_eq!(exchanges.len(), 1);
        assert_eq!(encryption_of(&exchanges[0]), expected, "{operation:?}");
    }
    // The servers know objects of their own keys by themselves.
    let is_customer_key = expected.contains_key("-customer-algorithm");
    for operation in [Operation::PutPart, Operation::Get] {
        for exchange in bucket.proxy.exchanges(operation) {
            let found = encryption_of(&exchange);
            assert_eq!(found.is_empty(), !is_customer_key, "{operation:?}");
        }
    }
}

#[tokio::test]
async fn every_write_names_its_encryption() {
    for bucket in buckets().await {
        check_headers(&bucket, &[], &[]).await;
        for kind in ["AES256", "aws:kms", "aws:kms:dsse"] {
            let settings = [("AWS_SERVER_SIDE_ENCRYPTION", kind)];
            check_headers(&bucket, &settings, &[("", kind)]).await;
        }
        let settings = [
            ("AWS_SERVER_SIDE_ENCRYPTION", "aws:kms"),
            ("AWS_SSE_KMS_KEY_ID", "some-key"),
            ("AWS_SSE_BUCKET_KEY_ENABLED", "true"),
        ];
        let expected = [("", "aws:kms"), ("-aws-kms-key-id", "some-key"), ("-bucket-key-enabled", "true")];
        check_headers(&bucket, &settings, &expected).await;
        let settings = [("AWS_SERVER_SIDE_ENCRYPTION", "sse-c"), ("AWS_SSE_CUSTOMER_KEY_BASE64", CUSTOMER_KEY)];
        let expected = [
            ("-customer-algorithm", "AES256"),
            ("-customer-key", CUSTOMER_KEY),
            ("-customer-key-md5", "KYvwGXoFFJ42a2u2GDWhwQ=="),
        ];
        check_headers(&bucket, &settings, &expected).await;
    }
}

fn sha256(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(Sha256::digest(bytes))
}

#[tokio::test]
async fn every_write_has_a_checksum_if_it_is_set() {
    let (small, large) = (bytes_of(3), bytes_of(PART_BYTES + 1));
    let (first, last) = large.split_at(PART_BYTES);
    for bucket in buckets().await {
        let store = bucket.store_with(&bucket.settings(&[("AWS_CHECKSUM_ALGORITHM", "sha256")]));
        store.put("small", small.clone()).await.unwrap();
        store.put("large", large.clone()).await.unwrap();
        assert!(store.read_all("large").await.unwrap() == large);
        let sent = |operation| {
            let exchanges = bucket.proxy.exchanges(operation).into_iter();
            let mut sums: Vec<_> =
                exchanges.map(|one| one.header(CHECKSUM).map(str::to_owned)).map(Option::unwrap_or_default).collect();
            sums.sort_unstable();
            sums
        };
        assert_eq!(sent(Operation::Put), [sha256(&small)]);
        let mut parts = [sha256(first), sha256(last)];
        parts.sort_unstable();
        assert_eq!(sent(Operation::PutPart), parts);
        let creation = &bucket.proxy.exchanges(Operation::CreateUpload)[0];
        assert_eq!(creation.header("x-amz-checksum-algorithm"), Some("SHA256"));
    }
}
