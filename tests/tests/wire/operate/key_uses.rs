//! Reports of last uses: who may send them, and what they change.

use tests::errors::check_failure;
use tests::jwt::seconds_from_now;
use tests::operator::{Operator, Token};
use tests::stack::{Setup, Stack};
use tonic::{Code, Status};
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::{KeyKind, Scope, SigningKeyUse};

/// A key of each kind of a tenant.
struct Keys {
    tenant: &'static str,
    agent: &'static str,
    api_key: Token,
    token: Token,
}

impl Keys {
    async fn of(operator: &Operator, tenant: &'static str, agent: &'static str) -> Self {
        operator.agent(tenant, agent).await;
        operator.signing_key(tenant, "users", SigningKeyUse::User).await;
        let api_key = operator.api_key(agent).await;
        Self { tenant, agent, api_key, token: operator.token(&[Scope::Read], tenant).await }
    }

    fn uses(&self, seconds: i64) -> Vec<proto::KeyUse> {
        let used = |kind: KeyKind, tenant: &str, id: &str| proto::KeyUse {
            kind: kind.into(),
            tenant_id: tenant.to_owned(),
            key_id: id.to_owned(),
            last_used_at: Some(prost_types::Timestamp { seconds, nanos: 0 }),
        };
        vec![
            used(KeyKind::ApiKey, "", &self.api_key.id),
            used(KeyKind::ServiceToken, "", &self.token.id),
            used(KeyKind::SigningKey, self.tenant, "users"),
        ]
    }

    /// When each was last used, in seconds.
    async fn listed(&self, operator: &Operator) -> [Option<i64>; 3] {
        let mut registry = operator.registry();
        let keys = proto::ListApiKeysRequest { agent_id: self.agent.to_owned() };
        let keys = registry.list_api_keys(keys).await.unwrap().into_inner().api_keys;
        let tokens = registry.list_service_tokens(proto::ListServiceTokensRequest {}).await;
        let tokens = tokens.unwrap().into_inner().service_tokens;
        let signing = proto::ListSigningKeysRequest { tenant_id: self.tenant.to_owned() };
        let signing = registry.list_signing_keys(signing).await.unwrap().into_inner().signing_keys;
        let token = tokens.iter().find(|token| token.service_token_id == self.token.id).unwrap();
        [keys[0].last_used_at, token.last_used_at, signing[0].last_used_at].map(|used| Some(used?.seconds))
    }
}

async fn report(operator: &Operator, uses: Vec<proto::KeyUse>) -> Result<u32, Status> {
    let request = proto::RecordKeyUsesRequest { uses };
    Ok(operator.registry().record_key_uses(request).await?.into_inner().uses)
}

async fn setup() -> (Stack, Operator) {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    (stack, operator)
}

#[tokio::test(flavor = "multi_thread")]
async fn times_never_go_back_and_are_not_in_the_future() {
    let (_stack, operator) = setup().await;
    let keys = Keys::of(&operator, "acme", "support").await;
    assert_eq!(keys.listed(&operator).await, [None; 3]);
    for (reported, expected) in [(100, 100), (50, 100), (200, 200)] {
        assert_eq!(report(&operator, keys.uses(reported)).await.unwrap(), 3);
        assert_eq!(keys.listed(&operator).await, [Some(expected); 3]);
    }
    let before = seconds_from_now(0);
    report(&operator, keys.uses(before + 86_400)).await.unwrap();
    for used in keys.listed(&operator).await {
        assert!((before..=seconds_from_now(0)).contains(&used.unwrap()), "{used:?}");
    }
    let many = vec![proto::KeyUse::default(); 4_097];
    check_failure("too many", report(&operator, many).await, (Code::InvalidArgument, "FIELD_OUT_OF_RANGE", "uses"));
    assert_eq!(report(&operator, vec![proto::KeyUse::default(); 4_096]).await.unwrap(), 0);
}

/// Keys of others look like missing ones.
#[tokio::test(flavor = "multi_thread")]
async fn bound_tokens_report_only_keys_of_their_tenant() {
    let (_stack, operator) = setup().await;
    let (own, foreign) = (Keys::of(&operator, "acme", "support").await, Keys::of(&operator, "globex", "theirs").await);
    let append = operator.token(&[Scope::Append], "acme").await;
    let bound = Operator::new(operator.caller().with_token(&append.secret));
    let of_all = operator.token(&[Scope::Read], "").await;
    let mut uses = foreign.uses(100);
    uses.push(proto::KeyUse { key_id: of_all.id.clone(), ..uses[1].clone() });
    uses.push(proto::KeyUse { key_id: "0123456789abcdef".to_owned(), ..uses[1].clone() });
    assert_eq!(report(&bound, uses).await.unwrap(), 0);
    assert_eq!(report(&bound, own.uses(100)).await.unwrap(), 3);
    assert_eq!(own.listed(&operator).await, [Some(100); 3]);
    assert_eq!(foreign.listed(&operator).await, [None; 3]);
    let secret_key = operator.secret_key(&[Scope::Append], &["support"]).await;
    let secret_key = Operator::new(operator.caller().with_token(&secret_key.secret));
    let refused = report(&secret_key, own.uses(200)).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    // An operator of another tenant sees neither the keys nor their uses.
    let operate = operator.token(&[Scope::Operate], "globex").await;
    let theirs = Operator::new(operator.caller().with_token(&operate.secret));
    let keys = proto::ListApiKeysRequest { agent_id: own.agent.to_owned() };
    let no_agent = (Code::NotFound, "REGISTRY_ENTRY_NOT_FOUND", "agent_id");
    check_failure("their list", theirs.registry().list_api_keys(keys).await, no_agent);
    assert_eq!(foreign.listed(&theirs).await, [None; 3]);
}
