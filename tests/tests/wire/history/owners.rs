//! Owners of histories: reserved ids, and conversations of others with a history's id.

use tests::agent::Agent;
use tests::errors::{Expected, check_failure};
use tests::events::{session, user_owner};
use tests::stack::Stack;
use tonic::Code;
use wire::proto::event::v1 as event;
use wire::proto::event::v1::owner::Kind;
use wire::proto::write::v1 as write;

use super::calls::{codes, key, load, load_request, record, record_request, short, try_load, try_record};

fn channel(id: &str) -> event::Owner {
    event::Owner { kind: Some(Kind::ChannelId(id.to_owned())) }
}

fn create(agent: &Agent, id: &str, owner: event::Owner) -> write::CreateConversationRequest {
    write::CreateConversationRequest { owner: Some(owner), ..agent.create_request(id) }
}

/// The id prefix is only for channels, and channels use no other ids.
#[tokio::test(flavor = "multi_thread")]
async fn history_ids_belong_to_channels_only() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let digits = "0123456789abcdef".repeat(4);
    let reserved = (Code::InvalidArgument, "FIELD_RESERVED", "conversation_id");
    let malformed = (Code::InvalidArgument, "FIELD_MALFORMED", "owner.channel_id");
    let cases: [(&str, event::Owner, Option<Expected>); 6] = [
        ("history:1", session("s"), Some(reserved)),
        ("history:", user_owner("u"), Some(reserved)),
        ("c-1", channel(&digits), Some(reserved)),
        ("", channel(&digits), Some(reserved)),
        ("history:2", channel("telegram:42"), Some(malformed)),
        ("history:3", channel(&digits), None),
    ];
    for (id, owner, expected) in cases {
        let outcome = agent.try_create(create(&agent, id, owner)).await;
        match expected {
            Some(expected) => drop(check_failure(id, outcome.map(drop), expected)),
            None => drop(outcome.expect(id)),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn channel_conversations_keep_their_owner() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let recorded = record(&agent, &key(&agent, "room"), &["u 1"]).await;
    agent.create("c-1").await;
    let fixed = (Code::FailedPrecondition, "OWNER_FIXED", "");
    let mismatch = (Code::FailedPrecondition, "OWNER_MISMATCH", "");
    let own = channel(&recorded.channel_id);
    let history = recorded.conversation_id.as_str();
    for (id, owner, expected, failure) in [
        (history, session("s"), None, fixed),
        (history, user_owner("eve"), Some(own.clone()), fixed),
        (history, user_owner("eve"), Some(session("room")), mismatch),
        ("c-1", own, None, fixed),
    ] {
        let request =
            write::ChangeOwnerRequest { target: Some(agent.target(id)), owner: Some(owner), expected_owner: expected };
        let changed = agent.caller().write().change_owner(request).await;
        check_failure(id, changed.map(drop), failure);
    }
}

/// A conversation of another owner with a history's id is neither loaded nor appended to.
#[tokio::test(flavor = "multi_thread")]
async fn planted_conversations_are_not_read() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let key = key(&agent, "room");
    let place = load(&agent, &key, &[]).await.conversation_id;
    let planted = create(&agent, &place, channel(&"0".repeat(64)));
    agent.try_create(planted).await.expect("a planted one");
    agent.append(&place, vec![tests::events::user("planted")]).await;
    let loaded = try_load(&agent, load_request(&key, &["u mine"])).await.expect("a history");
    assert_eq!(codes(&loaded.warnings), ["OWNER_MISMATCH"]);
    assert_eq!((short(&loaded.messages), loaded.version), (vec!["u mine".to_owned()], 0));
    let recorded = try_record(&agent, record_request(&key, &["u mine"])).await.expect("an answer");
    assert_eq!(codes(&recorded.warnings), ["OWNER_MISMATCH"]);
    assert_eq!((recorded.appended_count, recorded.version), (0, 0));
    assert_eq!(agent.version(&place).await, 2);
}

/// The same key of two tenants has unrelated ids, because each tenant has its own secret.
#[tokio::test(flavor = "multi_thread")]
async fn tenants_do_not_share_ids() {
    let stack = Stack::shared().await;
    let mut seen = Vec::new();
    for agent in [stack.any_agent().await, stack.any_agent().await] {
        let recorded = record(&agent, &key(&agent, "telegram:42"), &["u 1"]).await;
        seen.push(recorded.channel_id);
    }
    assert_ne!(seen[0], seen[1]);
}
