//! Signing keys: added, listed without their secrets, retired, and separated by tenant.

use serde_json::json;
use tests::errors::{Expected, check_failure};
use tests::jwt::seconds_from_now;
use tests::operator::Operator;
use tests::stack::Setup;
use tonic::Code::{AlreadyExists, InvalidArgument, NotFound};
use tonic::Status;
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::add_signing_key_request::Kind;
use wire::proto::operate::v1::{SigningKeyUse, signing_key};

const NO_TENANT: Expected = (NotFound, "REGISTRY_ENTRY_NOT_FOUND", "tenant_id");
const NO_KEY: Expected = (NotFound, "REGISTRY_ENTRY_NOT_FOUND", "signing_key_id");

fn request(id: &str, kind: Option<Kind>) -> proto::AddSigningKeyRequest {
    proto::AddSigningKeyRequest {
        tenant_id: "acme".to_owned(),
        signing_key_id: id.to_owned(),
        r#use: SigningKeyUse::User.into(),
        kind,
        expires_at: None,
    }
}

async fn add(
    operator: &Operator,
    request: proto::AddSigningKeyRequest,
) -> Result<proto::AddSigningKeyResponse, Status> {
    Ok(operator.registry().add_signing_key(request).await?.into_inner())
}

async fn retire(operator: &Operator, id: &str) -> Result<proto::SigningKey, Status> {
    let request = proto::RetireSigningKeyRequest {
        tenant_id: "acme".to_owned(),
        signing_key_id: id.to_owned(),
        retired_at: None,
    };
    let retired = operator.registry().retire_signing_key(request).await?;
    Ok(retired.into_inner().signing_key.expect("a key"))
}

async fn keys(operator: &Operator, tenant: &str) -> Result<Vec<proto::SigningKey>, Status> {
    let request = proto::ListSigningKeysRequest { tenant_id: tenant.to_owned() };
    let listed = operator.registry().list_signing_keys(request).await?;
    Ok(listed.into_inner().signing_keys)
}

fn set() -> String {
    let key = json!({
        "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
    });
    json!({"keys": [key]}).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_every_kind_are_stored_and_secrets_are_not_returned() {
    let mut stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    operator.tenant("acme").await;
    let url = "https://id.example/jwks".to_owned();
    let given = "a secret of at least 32 bytes, no less";
    let made = add(&operator, request("made", None)).await.expect("a key");
    assert!(made.secret.starts_with("hk_") && made.secret.len() >= 32);
    for (id, kind) in [
        ("secret", Kind::Hs256Secret(given.into())),
        ("set", Kind::JwksJson(set())),
        ("url", Kind::JwksUrl(url.clone())),
    ] {
        let added = add(&operator, request(id, Some(kind))).await.expect("a key");
        assert_eq!(added.secret, "", "{id}");
        assert!(added.signing_key.expect("a key").created_at.is_some());
    }
    let retired = retire(&operator, "made").await.expect("retired");
    assert!(retired.retired_at.is_some());
    assert_eq!(retire(&operator, "made").await.expect("again"), retired);
    stack.writer.stop().await;
    stack.writer.start().await;
    let listed = keys(&operator, "acme").await.expect("keys");
    let hidden = || Some(signing_key::Kind::Hs256Secret(Vec::new().into()));
    let kinds: Vec<_> = listed.iter().map(|key| (key.signing_key_id.as_str(), key.kind.clone())).collect();
    let expected = [
        ("made", hidden()),
        ("secret", hidden()),
        ("set", Some(signing_key::Kind::JwksJson(set()))),
        ("url", Some(signing_key::Kind::JwksUrl(url))),
    ];
    assert_eq!(kinds, expected);
    let taken = (AlreadyExists, "REGISTRY_ENTRY_EXISTS", "signing_key_id");
    check_failure("taken", add(&operator, request("made", None)).await, taken);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_requests_are_rejected() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    operator.tenant("acme").await;
    let secret = |bytes: usize| Kind::Hs256Secret(vec![7; bytes].into());
    let malformed = |field| (InvalidArgument, "FIELD_MALFORMED", field);
    for (case, kind, expected) in [
        ("31 bytes", secret(31), malformed("hs256_secret")),
        ("1,025 bytes", secret(1_025), malformed("hs256_secret")),
        ("no set", Kind::JwksJson("[]".to_owned()), malformed("jwks_json")),
        (
            "a private address",
            Kind::JwksUrl("https://10.0.0.1/".to_owned()),
            (InvalidArgument, "DESTINATION_NOT_ALLOWED", "jwks_url"),
        ),
        ("no URL", Kind::JwksUrl("id.example".to_owned()), malformed("jwks_url")),
    ] {
        check_failure(case, add(&operator, request("k", Some(kind))).await, expected);
    }
    for (id, reason) in [("", "FIELD_MISSING"), ("a.b", "FIELD_MALFORMED")] {
        let expected = (InvalidArgument, reason, "signing_key_id");
        check_failure(id, add(&operator, request(id, None)).await, expected);
    }
    for (key_use, reason) in [(0, "FIELD_MISSING"), (3, "FIELD_MALFORMED")] {
        let mut request = request("k", None);
        request.r#use = key_use;
        let expected = (InvalidArgument, reason, "use");
        check_failure("use", add(&operator, request).await, expected);
    }
    check_failure("missing", retire(&operator, "k").await, NO_KEY);
    assert_eq!(keys(&operator, "acme").await.expect("keys"), []);
    for bytes in [32, 1_024] {
        let request = request(&bytes.to_string(), Some(secret(bytes)));
        add(&operator, request).await.expect("at the bound");
    }
    for number in 2..16 {
        add(&operator, request(&format!("k{number}"), None)).await.expect("a key");
    }
    let many = (InvalidArgument, "FIELD_OUT_OF_RANGE", "signing_key_id");
    check_failure("the 17th", add(&operator, request("k17", None)).await, many);
}

#[tokio::test(flavor = "multi_thread")]
async fn tenants_do_not_see_each_others_keys() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    operator.tenant("acme").await;
    operator.tenant("globex").await;
    add(&operator, request("k", None)).await.expect("a key");
    let token = operator.token(&[proto::Scope::Operate], "globex").await;
    let bound = Operator::new(operator.caller().with_token(&token.secret));
    check_failure("add", add(&bound, request("x", None)).await, NO_TENANT);
    check_failure("retire", retire(&bound, "k").await, NO_TENANT);
    check_failure("list", keys(&bound, "acme").await, NO_TENANT);
    assert_eq!(keys(&bound, "globex").await.expect("keys"), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_expire_in_the_future_and_can_be_retired_before() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    operator.tenant("acme").await;
    let ending = |id: &str, seconds: i64| proto::AddSigningKeyRequest {
        expires_at: Some(prost_types::Timestamp { seconds: seconds_from_now(seconds), nanos: 0 }),
        ..request(id, None)
    };
    let past = (InvalidArgument, "FIELD_OUT_OF_RANGE", "expires_at");
    check_failure("in the past", add(&operator, ending("k", -1)).await, past);
    let new = ending("k", 3_600);
    add(&operator, new.clone()).await.expect("a key");
    let listed = keys(&operator, "acme").await.expect("keys");
    assert_eq!((listed[0].expires_at, listed[0].retired_at), (new.expires_at, None));
    let retired = retire(&operator, "k").await.expect("retired");
    assert_eq!(retired.expires_at, new.expires_at);
    assert!(retired.retired_at.is_some());
}
