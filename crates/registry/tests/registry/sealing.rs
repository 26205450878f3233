//! Secrets at rest: encrypted with a master key, encrypted again with another, and unreadable without.

use devstack::NatsServer;
use domain::SigningKeyId;
use event_log::seal::{MasterKey, MasterKeys, SealError};
use event_log::{BucketEntry, Record, RecordConfig};
use registry::{KeyPurpose, NewSigningKey, Registry};
use wire::proto::operate::v1::SigningKeyUse;

use crate::support::{NOW, config_of_one, tenant, two};

fn keys(current: &MasterKey, previous: Option<&MasterKey>) -> MasterKeys {
    MasterKeys { current: Some(current.clone()), previous: previous.cloned(), registry: None }
}

async fn opened(server: &NatsServer, master_keys: MasterKeys) -> (Record, Registry) {
    let config = RecordConfig { master_keys, ..config_of_one(server) };
    let record = Record::open(config).await.unwrap();
    let registry = Registry::open(&record).await.unwrap();
    (record, registry)
}

/// Whether a text is in any message of both buckets.
async fn is_stored(server: &NatsServer, secret: &[u8]) -> bool {
    let record = Record::open(config_of_one(server)).await.unwrap();
    let mut found = false;
    for bucket in [record.registry_bucket(), record.restricted_bucket()] {
        let search = |entry: BucketEntry| found |= entry.value.windows(secret.len()).any(|part| part == secret);
        drop(bucket.load(search).await.unwrap());
    }
    found
}

#[tokio::test]
async fn secrets_are_encrypted_and_encrypted_again() {
    let server = devstack::test::nats().await;
    let (clear, _other) = two(&server).await;
    let acme = tenant("acme");
    let signing = |id: &str| NewSigningKey {
        tenant: acme.clone(),
        id: SigningKeyId::parse(id).unwrap(),
        key_use: SigningKeyUse::User,
        material: None,
        expires_at: None,
    };
    let (_, first) = clear.add_signing_key(signing("first"), NOW).await.unwrap();
    let first = first.unwrap().reveal().as_bytes().to_vec();
    let session = clear.tenant_key(&acme, KeyPurpose::Session).unwrap();
    // Two tenants and a signing key.
    assert_eq!(clear.count_plaintext_secrets(), 3);
    assert!(is_stored(&server, &first).await);

    let (old, new) = (MasterKey::generate(), MasterKey::generate());
    let (record, registry) = opened(&server, keys(&old, None)).await;
    let receipts = record.receipt_keys(NOW).await.unwrap();
    assert_eq!(registry.count_plaintext_secrets(), 3);
    assert_eq!(registry.reseal().await, Ok(3));
    assert_eq!(registry.reseal().await, Ok(0));
    assert_eq!(registry.count_plaintext_secrets(), 0);
    assert!(!is_stored(&server, &first).await);
    let (_, second) = registry.add_signing_key(signing("second"), NOW).await.unwrap();
    let second = second.unwrap().reveal().as_bytes().to_vec();
    assert!(!is_stored(&server, &second).await);
    assert!(!is_stored(&server, receipts.mark_secret()).await);

    // During a rotation both keys decrypt.
    let (record, registry) = opened(&server, keys(&new, Some(&old))).await;
    assert_eq!(registry.check_secrets(), Ok(()));
    assert_eq!(registry.reseal().await, Ok(4));
    record.reseal_receipt_keys().await.unwrap();
    let (record, registry) = opened(&server, keys(&new, None)).await;
    assert_eq!(registry.check_secrets(), Ok(()));
    let derived = registry.tenant_key(&acme, KeyPurpose::Session);
    assert_eq!(derived, Some(session));
    let signing_keys = registry.signing_keys(&acme, SigningKeyUse::User, NOW);
    assert_eq!(signing_keys.len(), 2);
    assert_eq!(record.existing_receipt_keys().await, Ok(Some(receipts)));
}

#[tokio::test]
async fn without_its_key_no_secret_is_decrypted_or_replaced() {
    let server = devstack::test::nats().await;
    let _ = two(&server).await;
    let key = MasterKey::generate();
    let (record, registry) = opened(&server, keys(&key, None)).await;
    registry.reseal().await.unwrap();
    record.receipt_keys(NOW).await.unwrap();
    let acme = tenant("acme");
    let session = registry.tenant_key(&acme, KeyPurpose::Session);
    let wrong = MasterKey::generate();
    for (given, expected) in
        [(MasterKeys::default(), SealError::NoKey), (keys(&wrong, None), SealError::WrongKey(key.id()))]
    {
        let (record, registry) = opened(&server, given).await;
        assert_eq!(registry.check_secrets(), Err(expected));
        assert_eq!(registry.tenant_key(&acme, KeyPurpose::Session), None);
        assert!(registry.reseal().await.is_err());
        registry.make_missing_tenant_secrets(NOW).await.unwrap();
        assert!(record.receipt_keys(NOW).await.is_err());
        assert!(record.rotate_receipt_key(NOW).await.is_err());
    }
    let (_, registry) = opened(&server, keys(&key, None)).await;
    assert_eq!(registry.check_secrets(), Ok(()));
    assert_eq!(registry.tenant_key(&acme, KeyPurpose::Session), session);
}
