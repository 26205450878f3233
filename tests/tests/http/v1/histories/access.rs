//! Attacks: the keys of other tenants and agents, tokens without a scope, pages, and ids of histories.

use serde_json::{Value, json};
use tests::http_client::HttpClient;
use wire::proto::event::v1 as event;
use wire::proto::operate::v1::Scope;
use wire::proto::write::v1 as write;

use super::super::service;
use super::{BOTH, back_end, bot, load, messages, path, record, short};
use crate::fixture::{Fixture, bearer, text};

const KEY: &str = "telegram:42";

/// The status and code of a load, a load with messages, and a record.
async fn outcomes(client: &HttpClient) -> [(u16, String); 3] {
    let at = |suffix: &str| format!("{}{suffix}", path(KEY));
    let body = messages(&["u planted"]);
    [
        client.get(&at("")).await.status_and_code(),
        client.post(&at("/load"), &body).await.status_and_code(),
        client.post(&at("/messages"), &body).await.status_and_code(),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn others_neither_load_nor_record() {
    let fixture = Fixture::new().await;
    let bot = bot(&fixture).await;
    record(&bot, KEY, &["u secret"]).await;
    let foreign = bearer(&fixture.stack, &fixture.operator.token(&BOTH, fixture.foreign_tenant).await.secret);
    let unknown = (404, "AGENT_NOT_FOUND");
    let unauthenticated = (401, "UNAUTHENTICATED");
    for (case, caller, (status, code)) in [
        ("another tenant", foreign.with("x-agent-id", fixture.agent_id), unknown),
        ("no such agent", foreign.with("x-agent-id", "nobody"), unknown),
        (
            "a key of another agent",
            back_end(&fixture, fixture.other_agent_id).await.with("x-agent-id", fixture.agent_id),
            unknown,
        ),
        ("no agent", service(&fixture, &BOTH).await, (400, "FIELD_MISSING")),
        ("a page", bot.with("origin", "https://shop.example"), (403, "ORIGIN_NOT_ALLOWED")),
        ("no token", fixture.stack.http_client(), unauthenticated),
        ("a public key", fixture.frontend(), unauthenticated),
        ("a public key as a token", bearer(&fixture.stack, &fixture.key.secret), unauthenticated),
        ("an administrator", fixture.admin(), unauthenticated),
    ] {
        for outcome in outcomes(&caller).await {
            assert_eq!(outcome, (status, code.to_owned()), "{case}");
        }
    }
    assert_eq!(short(&load(&bot, KEY).await), ["u secret"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_acts_within_its_scopes() {
    let fixture = Fixture::new().await;
    let (ok, lacks) = ((200, ""), (403, "MISSING_SCOPE"));
    for (scopes, expected) in [(&[Scope::Read][..], [ok, ok, lacks]), (&[Scope::Append], [lacks; 3]), (&BOTH, [ok; 3])]
    {
        let caller = service(&fixture, scopes).await.with("x-agent-id", fixture.agent_id);
        let expected = expected.map(|(status, code)| (status, code.to_owned()));
        assert_eq!(outcomes(&caller).await, expected, "{scopes:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_and_tenants_have_their_own_histories_of_a_key() {
    let fixture = Fixture::new().await;
    let callers = [
        bot(&fixture).await,
        back_end(&fixture, fixture.other_agent_id).await,
        back_end(&fixture, fixture.foreign_agent_id).await,
    ];
    let texts = ["u support", "u sales", "u globex"];
    let mut recorded = Vec::new();
    for (caller, text) in callers.iter().zip(texts) {
        recorded.push(record(caller, KEY, &[text]).await);
    }
    for (caller, text) in callers.iter().zip(texts) {
        assert_eq!(short(&load(caller, KEY).await), [text]);
    }
    let ids: Vec<&str> = recorded.iter().map(|one| text(one, "conversationId")).collect();
    assert!(ids[0] != ids[1] && ids[0] != ids[2] && ids[1] != ids[2], "{ids:?}");
    // The agents of a tenant share the channel, and tenants do not.
    let channels: Vec<&str> = recorded.iter().map(|one| text(one, "channelId")).collect();
    assert!(channels[0] == channels[1] && channels[0] != channels[2]);
    for foreign in [&callers[1], &callers[2]] {
        let theirs = foreign.get(&format!("/v1/conversations/{}", ids[0])).await;
        let missing = foreign.get("/v1/conversations/missing").await;
        assert_eq!((theirs.status, &theirs.body), (404, &missing.body));
    }
}

/// A conversation of another owner with a history's id is neither loaded nor appended to.
#[tokio::test(flavor = "multi_thread")]
async fn planted_conversations_are_not_read() {
    let fixture = Fixture::new().await;
    let bot = bot(&fixture).await;
    let id = load(&bot, KEY).await["conversationId"].clone();
    let owner = event::owner::Kind::ChannelId("0".repeat(64));
    let planted = write::CreateConversationRequest {
        owner: Some(event::Owner { kind: Some(owner) }),
        ..fixture.agent.create_request(id.as_str().unwrap())
    };
    fixture.agent.try_create(planted).await.expect("a planted one");
    let loaded = bot.get(&path(KEY)).await.ok(200);
    let to = format!("{}/messages", path(KEY));
    let recorded = bot.post(&to, &messages(&["u mine"])).await.ok(200);
    for answer in [loaded, recorded] {
        assert_eq!(answer["warnings"][0]["code"], "OWNER_MISMATCH", "{answer}");
        assert_eq!(answer["version"], 0, "{answer}");
        assert_eq!(answer.get("positionToken"), None::<&Value>);
    }
    assert_eq!(fixture.agent.version(id.as_str().unwrap()).await, 1);
}

/// An id of a history is no key of it, and creates no conversation.
#[tokio::test(flavor = "multi_thread")]
async fn ids_of_histories_are_no_keys() {
    let fixture = Fixture::new().await;
    let bot = bot(&fixture).await;
    let recorded = record(&bot, KEY, &["u secret"]).await;
    let id = text(&recorded, "conversationId");
    assert_eq!(load(&bot, id).await["version"], 0);
    let body = json!({"id": format!("history:{}", "0".repeat(64)), "userId": "ada"});
    let refused = bot.post("/v1/conversations", &body).await;
    assert_eq!(refused.status_and_code(), (400, "FIELD_RESERVED".to_owned()));
}
