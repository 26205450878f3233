//! API keys for frontends: origins and rotation.

use tests::errors::{Expected, check_failure};
use tests::operator::Operator;
use tests::stack::Setup;
use tonic::Code::{InvalidArgument, NotFound};
use tonic::Status;
use wire::proto::operate::v1 as proto;

/// 30 days.
const OVERLAP_SECONDS_MAX: u32 = 2_592_000;
const NO_KEY: Expected = (NotFound, "REGISTRY_ENTRY_NOT_FOUND", "api_key_id");

async fn create(operator: &Operator, origins: &[&str]) -> Result<(proto::ApiKey, String), Status> {
    let request = proto::CreateApiKeyRequest {
        agent_id: "support".to_owned(),
        display_name: "the site".to_owned(),
        allowed_origins: origins.iter().map(|origin| (*origin).to_owned()).collect(),
        expires_at: None,
    };
    let made = operator.registry().create_api_key(request).await?.into_inner();
    Ok((made.api_key.expect("a key"), made.secret))
}

async fn rotate(operator: &Operator, id: &str, overlap_seconds: u32) -> Result<(proto::ApiKey, String), Status> {
    let request = proto::RotateApiKeyRequest { api_key_id: id.to_owned(), overlap_seconds, expires_at: None };
    let made = operator.registry().rotate_api_key(request).await?.into_inner();
    Ok((made.api_key.expect("a key"), made.secret))
}

async fn set_origins(operator: &Operator, id: &str, origins: &[&str]) -> Result<proto::ApiKey, Status> {
    let request = proto::SetApiKeyOriginsRequest {
        api_key_id: id.to_owned(),
        allowed_origins: origins.iter().map(|origin| (*origin).to_owned()).collect(),
    };
    let set = operator.registry().set_api_key_origins(request).await?;
    Ok(set.into_inner().api_key.expect("a key"))
}

async fn keys(operator: &Operator) -> Vec<proto::ApiKey> {
    let request = proto::ListApiKeysRequest { agent_id: "support".to_owned() };
    let listed = operator.registry().list_api_keys(request).await;
    listed.expect("keys").into_inner().api_keys
}

#[tokio::test(flavor = "multi_thread")]
async fn rotated_keys_have_an_end_and_a_successor() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    operator.agent("acme", "support").await;
    let (old, old_secret) = create(&operator, &["https://shop.example"]).await.expect("a key");
    let (new, new_secret) = rotate(&operator, &old.api_key_id, 60).await.expect("a new key");
    assert_ne!((&old.api_key_id, &old_secret), (&new.api_key_id, &new_secret));
    assert_eq!(new.allowed_origins, old.allowed_origins);
    assert_eq!((new.expires_at, new.display_name.as_str()), (None, "the site"));
    let listed = keys(&operator).await;
    assert_eq!(listed.len(), 2);
    let ended = listed.iter().find(|key| key.api_key_id == old.api_key_id).expect("the old one");
    let overlap = ended.expires_at.expect("an end").seconds - new.created_at.expect("a time").seconds;
    assert_eq!(overlap, 60);
    let listed = format!("{listed:?}");
    assert!(!listed.contains(&old_secret) && !listed.contains(&new_secret));
    assert!(keys(&operator).await.iter().all(|key| key.key_sha256.is_empty()));
    rotate(&operator, &new.api_key_id, OVERLAP_SECONDS_MAX).await.expect("at the bound");
    let past = rotate(&operator, &new.api_key_id, OVERLAP_SECONDS_MAX + 1).await;
    check_failure("past it", past, (InvalidArgument, "FIELD_OUT_OF_RANGE", "overlap_seconds"));
    rotate(&operator, &new.api_key_id, 0).await.expect("at once");
    check_failure("ended", rotate(&operator, &new.api_key_id, 0).await, NO_KEY);
    check_failure("unknown", rotate(&operator, "0", 0).await, NO_KEY);
}

#[tokio::test(flavor = "multi_thread")]
async fn origins_are_set_and_checked() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    operator.agent("acme", "support").await;
    let (key, _) = create(&operator, &["*"]).await.expect("a key");
    let set = set_origins(&operator, &key.api_key_id, &["http://localhost:3000"]).await;
    assert_eq!(set.expect("set").allowed_origins, ["http://localhost:3000"]);
    let malformed = |field| (InvalidArgument, "FIELD_MALFORMED", field);
    let wrong = ["*", "https://shop.example/"];
    check_failure("new", create(&operator, &wrong).await, malformed("allowed_origins[1]"));
    let outcome = set_origins(&operator, &key.api_key_id, &wrong).await;
    check_failure("set", outcome, malformed("allowed_origins[1]"));
    let many = create(&operator, &["*"; 51]).await;
    check_failure("51", many, (InvalidArgument, "FIELD_OUT_OF_RANGE", "allowed_origins"));
    create(&operator, &["*"; 50]).await.expect("50");
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_keys_look_missing() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    operator.agent("acme", "support").await;
    operator.tenant("globex").await;
    let (key, _) = create(&operator, &[]).await.expect("a key");
    let token = operator.token(&[proto::Scope::Operate], "globex").await;
    let bound = Operator::new(operator.caller().with_token(&token.secret));
    check_failure("rotate", rotate(&bound, &key.api_key_id, 0).await, NO_KEY);
    check_failure("origins", set_origins(&bound, &key.api_key_id, &[]).await, NO_KEY);
    assert_eq!(keys(&operator).await, [key]);
}
