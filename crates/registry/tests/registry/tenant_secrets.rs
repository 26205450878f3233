//! Root secrets of tenants: created once, equal in every process.

use event_log::Record;
use prost::Message as _;
use registry::{KeyPurpose, Registry};
use wire::proto::operate::v1::Tenant;

use crate::support::{NOW, config_of_one, name, tenant, two, until};

const PURPOSES: [KeyPurpose; 2] = [KeyPurpose::Session, KeyPurpose::Channel];

#[tokio::test]
async fn every_process_derives_the_same_keys() {
    let server = devstack::test::nats().await;
    let (first, second) = two(&server).await;
    let mut keys = Vec::new();
    for owner in ["acme", "other"] {
        for purpose in PURPOSES {
            let key = first.tenant_key(&tenant(owner), purpose).unwrap();
            assert_eq!(second.tenant_key(&tenant(owner), purpose).unwrap(), key);
            assert!(!keys.contains(&key), "{owner} {purpose:?}");
            keys.push(key);
        }
    }
    assert_eq!(first.tenant_key(&tenant("missing"), KeyPurpose::Session), None);
    // A second attempt to create the tenant changes nothing.
    let taken = second.create_tenant(&tenant("acme"), &name(""), NOW).await;
    assert!(taken.is_err());
    let again = second.tenant_key(&tenant("acme"), KeyPurpose::Session);
    assert_eq!(again.as_ref(), keys.first());
}

#[tokio::test]
async fn a_tenant_of_an_earlier_version_gets_one_secret() {
    let server = devstack::test::nats().await;
    let (first, second) = two(&server).await;
    let old = Tenant { tenant_id: "old".to_owned(), ..Tenant::default() };
    let bucket = Record::open(config_of_one(&server)).await.unwrap().registry_bucket();
    bucket.put("tenant.old", old.encode_to_vec().into(), None, "rejected").await.unwrap();
    for registry in [&first, &second] {
        until("the tenant", || async { registry.tenant(&tenant("old")).is_some() }).await;
    }
    let key = |registry: &Registry| registry.tenant_key(&tenant("old"), KeyPurpose::Channel);
    assert_eq!(key(&first), None);
    let before = first.tenant_key(&tenant("acme"), KeyPurpose::Channel);
    let (one, other) = tokio::join!(first.make_missing_tenant_secrets(NOW), second.make_missing_tenant_secrets(NOW),);
    assert_eq!((one, other), (Ok(()), Ok(())));
    assert!(key(&first).is_some());
    assert_eq!(key(&first), key(&second));
    assert_eq!(first.tenant_key(&tenant("acme"), KeyPurpose::Channel), before);
}
