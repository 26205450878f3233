//! Receipt keys: created once, rotated, and moved to the restricted bucket.

use devstack::NatsServer;
use domain::Timestamp;
use event_log::Record;

use crate::support::{jetstream, record_of_one};

const NOW: Timestamp = Timestamp(1_790_000_000_000_000_000);
const LATER: Timestamp = Timestamp(1_790_000_001_000_000_000);
const SEED: [u8; 32] = [7; 32];
const LEGACY: &str = "$KV.HANSARD_registry.receipt.seed";

/// A record with the seed of an earlier version.
async fn signed_before(server: &NatsServer) -> Record {
    let record = record_of_one(server).await;
    let context = jetstream(server).await;
    context.publish(LEGACY, SEED.to_vec().into()).await.unwrap().await.unwrap();
    record
}

#[tokio::test]
async fn keys_are_created_once_and_rotated() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    assert_eq!(record.existing_receipt_keys().await, Ok(None));
    let (one, other) = tokio::join!(record.receipt_keys(NOW), record.receipt_keys(LATER));
    let keys = one.unwrap();
    assert_eq!(other.as_ref(), Ok(&keys));
    assert_eq!(record.existing_receipt_keys().await, Ok(Some(keys.clone())));
    let rotated = record.rotate_receipt_key(LATER).await.unwrap();
    let ids = |keys: &event_log::ReceiptKeys| keys.list().iter().map(|key| key.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&rotated)[..1], ids(&keys));
    assert_eq!(ids(&rotated).len(), 2);
    assert_eq!(rotated.list()[0].rotated_at, Some(LATER));
    assert_eq!(rotated.mark_secret(), keys.mark_secret());
    assert_eq!(record.receipt_keys(LATER).await, Ok(rotated));
}

#[tokio::test]
async fn the_seed_of_an_earlier_version_leaves_the_registry() {
    let server = devstack::test::nats().await;
    let record = signed_before(&server).await;
    let before = record.existing_receipt_keys().await.unwrap().unwrap();
    assert_eq!(before.mark_secret(), &SEED);
    for _ in 0..2 {
        record.move_legacy_receipt_seed(NOW).await.unwrap();
        let keys = record.existing_receipt_keys().await.unwrap().unwrap();
        assert_eq!(keys.signing().map(|(_, seed)| *seed), Some(SEED));
        assert_eq!(keys.list()[0].public_key, before.list()[0].public_key);
        let context = jetstream(&server).await;
        let registry = context.get_stream("KV_HANSARD_registry").await.unwrap();
        let left = registry.get_last_raw_message_by_subject(LEGACY).await;
        assert!(left.unwrap().payload.is_empty());
    }
}

#[tokio::test]
async fn the_number_of_keys_is_limited() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    for _ in 1..event_log::RECEIPT_KEYS_MAX {
        record.rotate_receipt_key(NOW).await.unwrap();
    }
    let full = record.receipt_keys(NOW).await.unwrap();
    assert_eq!(full.list().len(), event_log::RECEIPT_KEYS_MAX);
    assert!(record.rotate_receipt_key(NOW).await.is_err());
    assert_eq!(record.receipt_keys(NOW).await, Ok(full));
}
