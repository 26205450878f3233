//! The last uses of keys: seen by a gateway, reported to a writer, and listed.

use prost_types::Timestamp;
use tests::eventually::eventually;
use tests::jwt::seconds_from_now;
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::Scope;

use crate::fixture::{Fixture, bearer};

/// The last uses of the API key, the user key and a service token; `None`: no use is known.
async fn last_uses(fixture: &Fixture, token: &str) -> [Option<Timestamp>; 3] {
    let mut registry = fixture.operator.registry();
    let keys = proto::ListApiKeysRequest { agent_id: fixture.agent_id.to_owned() };
    let keys = registry.list_api_keys(keys).await.unwrap().into_inner().api_keys;
    let signing = proto::ListSigningKeysRequest { tenant_id: fixture.tenant.to_owned() };
    let signing = registry.list_signing_keys(signing).await.unwrap().into_inner().signing_keys;
    let tokens = registry.list_service_tokens(proto::ListServiceTokensRequest {}).await;
    let tokens = tokens.unwrap().into_inner().service_tokens;
    [
        keys.iter().find(|key| key.api_key_id == fixture.key.id).unwrap().last_used_at,
        signing.iter().find(|key| key.r#use() == proto::SigningKeyUse::User).unwrap().last_used_at,
        tokens.iter().find(|listed| listed.service_token_id == token).unwrap().last_used_at,
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_show_when_keys_were_last_used() {
    let fixture = Fixture::with(|config| config.key_report_every_ms = 100).await;
    let before = seconds_from_now(0);
    let token = fixture.operator.token(&[Scope::Read], fixture.tenant).await;
    let [_, signing, service] = last_uses(&fixture, &token.id).await;
    assert_eq!((signing, service), (None, None));
    eventually("a gateway that knows the token", || async {
        let service = bearer(&fixture.stack, &token.secret).with("x-agent-id", fixture.agent_id);
        (service.get("/v1/conversations/none").await.status == 404).then_some(())
    })
    .await;
    assert_eq!(fixture.user("ada").get("/api/chats").await.status, 200);
    let uses = eventually("reported uses", || async {
        let uses = last_uses(&fixture, &token.id).await;
        uses.iter().all(Option::is_some).then_some(uses)
    })
    .await;
    // The clock of a gateway follows that of the record's servers, whose answers take their time.
    for used in uses.into_iter().flatten() {
        assert!((before - 1..=seconds_from_now(1)).contains(&used.seconds), "{used:?}");
    }
    // A rejected token is no use.
    let rejected = fixture.frontend().with("x-user-token", "a.b.c").get("/api/chats").await;
    assert_eq!(rejected.status, 401);
    let later = eventually("a later use", || async {
        fixture.user("ada").get("/api/chats").await.ok(200);
        let [_, signing, _] = last_uses(&fixture, &token.id).await;
        signing.filter(|used| (used.seconds, used.nanos) > uses[1].map_or((0, 0), |first| (first.seconds, first.nanos)))
    });
    later.await;
}
