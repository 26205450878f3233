//! API keys of frontends, and signing keys of user tokens.

use std::time::Duration;

use domain::{SigningKeyId, Timestamp};
use registry::{
    AllowedOrigins, CheckedSettings, NewSigningKey, OVERLAP_MAX, Registry, RegistryError, SIGNING_KEYS_MAX, Secret,
};
use wire::proto::operate::v1::signing_key::Kind;
use wire::proto::operate::v1::{AgentSettings, IdentityMode, SigningKeyUse};

use crate::support::{NOW, agent, name, tenant, two, until};

const SECOND: i64 = 1_000_000_000;
const KIND: &str = "signing key";

fn after(seconds: i64) -> Timestamp {
    Timestamp(NOW.0 + seconds * SECOND)
}

fn origins(texts: &[&str]) -> AllowedOrigins {
    AllowedOrigins::parse(texts.iter().map(|text| (*text).to_owned()).collect()).unwrap()
}

async fn key(registry: &Registry) -> (String, Secret) {
    let origins = origins(&["https://shop.example"]);
    let bot = agent("bot");
    let (key, secret) = registry.create_api_key(&bot, &name("web"), origins, None, NOW).await.unwrap();
    (key.api_key_id, secret)
}

async fn is_valid(registry: &Registry, secret: &Secret, at: Timestamp) -> bool {
    registry.authenticate_api_key(secret.reveal(), at).await.is_some()
}

#[tokio::test]
async fn a_key_is_valid_in_every_process_until_it_is_revoked() {
    let server = devstack::test::nats().await;
    let (first, second) = two(&server).await;
    let (id, secret) = key(&first).await;
    // The other process looks it up in the bucket.
    let frontend = second.authenticate_api_key(secret.reveal(), NOW).await.unwrap();
    assert_eq!(frontend.api_key_id, id);
    assert_eq!(frontend.access.tenant.tenant(), &tenant("acme"));
    assert_eq!(frontend.access.agent, agent("bot"));
    assert_eq!(frontend.access.actor.0.as_str(), format!("api_key:{id}"));
    assert_eq!(*frontend.allowed_origins, ["https://shop.example"]);
    let longer = format!("{}x", secret.reveal());
    for unknown in ["", "hp_", "hs_unknown", &secret.reveal()[3..], &longer] {
        let actual = first.authenticate_api_key(unknown, NOW).await;
        assert_eq!(actual, None, "{unknown}");
    }
    let changed = second.set_api_key_origins(&id, origins(&["*"])).await.unwrap();
    assert_eq!(changed.allowed_origins, ["*"]);
    first.revoke_api_key(&id, NOW).await.unwrap();
    assert!(!is_valid(&first, &secret, NOW).await);
    until("the revocation", || async { !is_valid(&second, &secret, NOW).await }).await;
}

#[tokio::test]
async fn a_rotated_key_is_valid_for_its_overlap() {
    let server = devstack::test::nats().await;
    let (first, _) = two(&server).await;
    let (id, old) = key(&first).await;
    let minute = Duration::from_mins(1);
    let (made, new) = first.rotate_api_key(&id, minute, None, NOW).await.unwrap();
    assert_eq!(made.allowed_origins, ["https://shop.example"]);
    assert_eq!((made.display_name.as_str(), made.expires_at), ("web", None));
    assert!(is_valid(&first, &old, Timestamp(after(60).0 - 1)).await);
    assert!(!is_valid(&first, &old, after(60)).await);
    assert!(is_valid(&first, &new, after(86_400 * 365)).await);
    // A second rotation does not extend the overlap.
    first.rotate_api_key(&id, OVERLAP_MAX, None, after(1)).await.unwrap();
    assert!(!is_valid(&first, &old, after(60)).await);
    first.rotate_api_key(&id, Duration::ZERO, None, after(2)).await.unwrap();
    assert!(!is_valid(&first, &old, after(2)).await);
    let gone = Err(RegistryError::NotFound { what: "valid API key" });
    let ended = first.rotate_api_key(&id, minute, None, after(2)).await;
    assert_eq!(ended.map(drop), gone);
    let revoked = &made.api_key_id;
    first.revoke_api_key(revoked, NOW).await.unwrap();
    let actual = first.rotate_api_key(revoked, minute, None, NOW).await.map(drop);
    assert_eq!(actual, gone);
    assert_eq!(first.rotate_api_key("0", minute, None, NOW).await.map(drop), gone);
}

fn signing(owner: &str, id: &str, key_use: SigningKeyUse) -> NewSigningKey {
    NewSigningKey {
        tenant: tenant(owner),
        id: SigningKeyId::parse(id).unwrap(),
        key_use,
        material: None,
        expires_at: None,
    }
}

/// The ids of the valid keys.
fn valid(registry: &Registry, owner: &str, key_use: SigningKeyUse, at: Timestamp) -> Vec<String> {
    let keys = registry.signing_keys(&tenant(owner), key_use, at);
    keys.iter().map(|key| key.signing_key_id.clone()).collect()
}

#[tokio::test]
async fn signing_keys_belong_to_a_tenant_and_a_use() {
    use SigningKeyUse::{Admin, User};
    let server = devstack::test::nats().await;
    let (first, second) = two(&server).await;
    let (shown, secret) = first.add_signing_key(signing("acme", "a", User), NOW).await.unwrap();
    let secret = secret.unwrap();
    assert!(secret.reveal().starts_with("hk_"));
    assert_eq!(shown.kind, Some(Kind::Hs256Secret(bytes::Bytes::new())));
    let kept = first.signing_keys(&tenant("acme"), User, NOW);
    assert_eq!(kept[0].kind, Some(Kind::Hs256Secret(secret.reveal().to_owned().into())));
    assert!(!format!("{kept:?}").contains(secret.reveal()));
    let taken = second.add_signing_key(signing("acme", "a", Admin), NOW).await;
    let actual = taken.map(drop);
    assert_eq!(actual, Err(RegistryError::AlreadyExists { what: KIND }));
    second.add_signing_key(signing("other", "a", Admin), NOW).await.unwrap();
    let orphan = first.add_signing_key(signing("missing", "a", User), NOW).await;
    let actual = orphan.map(drop);
    assert_eq!(actual, Err(RegistryError::NotFound { what: "tenant" }));
    until("both keys", || async {
        valid(&second, "acme", User, NOW) == ["a"] && valid(&first, "other", Admin, NOW) == ["a"]
    })
    .await;
    assert_eq!(valid(&first, "acme", Admin, NOW), [""; 0]);
    assert_eq!(valid(&first, "other", User, NOW), [""; 0]);
}

#[tokio::test]
async fn signing_keys_retire_at_their_time() {
    use SigningKeyUse::User;
    let server = devstack::test::nats().await;
    let (first, _) = two(&server).await;
    let new = signing("acme", "a", User);
    first.add_signing_key(new, NOW).await.unwrap();
    let id = SigningKeyId::parse("a").unwrap();
    let retire = async |from: Timestamp, now: Timestamp| {
        first.retire_signing_key(&tenant("acme"), &id, from, now).await.unwrap().retired_at.unwrap().seconds
    };
    let seconds = |time: Timestamp| time.seconds();
    assert_eq!(retire(after(60), NOW).await, seconds(after(60)));
    assert_eq!(valid(&first, "acme", User, Timestamp(after(60).0 - 1)), ["a"]);
    assert!(valid(&first, "acme", User, after(60)).is_empty());
    assert_eq!(retire(after(10), after(5)).await, seconds(after(10)));
    let actual = retire(after(99), after(10)).await;
    assert_eq!(actual, seconds(after(10)), "it has ended");
    assert_eq!(first.list_signing_keys(&tenant("acme")).len(), 1);
    let missing = first.retire_signing_key(&tenant("missing"), &id, NOW, NOW).await;
    assert_eq!(missing, Err(RegistryError::NotFound { what: KIND }));
}

#[tokio::test]
async fn the_valid_keys_of_a_use_are_limited() {
    let server = devstack::test::nats().await;
    let (registry, _) = two(&server).await;
    for number in 0..SIGNING_KEYS_MAX {
        let new = signing("acme", &number.to_string(), SigningKeyUse::User);
        registry.add_signing_key(new, NOW).await.unwrap();
    }
    let more = || signing("acme", "more", SigningKeyUse::User);
    let refused = registry.add_signing_key(more(), NOW).await;
    assert!(matches!(refused, Err(RegistryError::TooMany { max: SIGNING_KEYS_MAX, .. })));
    let other_use = signing("acme", "admin", SigningKeyUse::Admin);
    registry.add_signing_key(other_use, NOW).await.unwrap();
    let first = SigningKeyId::parse("0").unwrap();
    registry.retire_signing_key(&tenant("acme"), &first, NOW, NOW).await.unwrap();
    registry.add_signing_key(more(), NOW).await.unwrap();
}

#[tokio::test]
async fn settings_and_policy_are_stored_together() {
    let server = devstack::test::nats().await;
    let (first, second) = two(&server).await;
    let signed = AgentSettings { identity_mode: IdentityMode::Signed.into(), ..AgentSettings::default() };
    let checked = || CheckedSettings::parse(signed.clone()).unwrap();
    let set = first.set_agent_settings(&agent("bot"), checked()).await.unwrap();
    assert_eq!(set.settings, Some(signed.clone()));
    first.set_context_policy(&agent("bot"), &[7; 32], "{}", NOW).await.unwrap();
    until("the agent", || async {
        let seen = second.agent(&agent("bot")).unwrap();
        seen.settings == Some(signed.clone()) && seen.context_policy_digest.as_ref() == [7; 32]
    })
    .await;
    let missing = first.set_agent_settings(&agent("missing"), checked()).await;
    assert_eq!(missing, Err(RegistryError::NotFound { what: "agent" }));
}
