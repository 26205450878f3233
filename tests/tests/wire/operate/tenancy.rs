//! Tenants are isolated: foreign and missing entries get the same answer, byte for byte.

use tests::agent::Agent;
use tests::events::{text_of, user};
use tests::stack::{Setup, Stack};
use tonic::{Code, Status};
use wire::proto::read::v1 as read;
use wire::proto::read::v1::list_conversations_request::Filter;

/// The parts of a status that callers see.
type StatusParts = (Code, String, Vec<u8>);

fn status_parts(status: &Status) -> StatusParts {
    (status.code(), status.message().to_owned(), status.details().to_vec())
}

/// The answers of every rpc for a conversation that does not exist for the agent.
async fn rejections(agent: &Agent, conversation: &str) -> Vec<StatusParts> {
    let watch = agent.watch_request(conversation, 0);
    let mut reader = agent.caller().read();
    let outcomes = [
        agent.try_get(agent.read_target(conversation)).await.map(drop),
        agent.try_get(agent.eventual_target(conversation)).await.map(drop),
        agent.try_events(agent.list_request(conversation)).await.map(drop),
        agent.try_context(agent.read_target(conversation), 5).await.map(drop),
        reader.watch_conversation(watch).await.map(drop),
        agent.try_append(agent.append_request(conversation, vec![user("x")])).await.map(drop),
        agent.try_update(agent.update_request(conversation, &["title"])).await.map(drop),
        agent.try_archive(agent.target(conversation)).await.map(drop),
        agent.try_restore(agent.target(conversation)).await.map(drop),
        agent.try_erase(agent.target(conversation)).await.map(drop),
    ];
    outcomes.into_iter().map(|outcome| status_parts(&outcome.expect_err("a refusal"))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_tenants_with_the_same_conversations() {
    let stack = Stack::shared().await;
    let (one, two) = (stack.any_agent().await, stack.any_agent().await);
    for (agent, text) in [(&one, "of one"), (&two, "of two")] {
        agent.create("c").await;
        agent.append("c", vec![user(text); text.len()]).await;
    }
    two.append("c", vec![user("of two")]).await;
    for (agent, text, version) in [(&one, "of one", 7), (&two, "of two", 8)] {
        assert_eq!(agent.version("c").await, version);
        agent.wait_for_rows("c", version).await;
        let events = agent.events(agent.list_request("c")).await;
        assert!(events[1..].iter().all(|event| text_of(event).as_deref() == Some(text)));
        let request = agent.conversations_request(Filter::WholeTenant(read::WholeTenant {}));
        let listed = agent.conversations(request).await;
        assert_eq!(listed.iter().map(|c| c.version).collect::<Vec<_>>(), [version]);
    }
    // Erasing one keeps the other.
    one.try_erase(one.target("c")).await.expect("erased");
    assert_eq!((one.version("c").await, two.version("c").await), (0, 8));
}

/// Foreign: of another tenant, or of another agent of the same tenant.
#[tokio::test(flavor = "multi_thread")]
async fn foreign_conversations_look_missing() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    let owner = operator.agent("acme", "support").await;
    let colleague = operator.agent("acme", "sales").await;
    let stranger = operator.agent("globex", "globex-support").await;
    owner.create("there").await;
    owner.wait_for_rows("there", 1).await;
    for agent in [&colleague, &stranger] {
        let foreign = rejections(agent, "there").await;
        let missing = rejections(agent, "none").await;
        assert_eq!(foreign, missing, "{}", agent.id());
        assert!(foreign.iter().all(|(code, ..)| *code == Code::NotFound), "{foreign:?}");
    }
    assert_eq!(owner.version("there").await, 1);
}

/// A token of a tenant has no access to another tenant's agent, and cannot find out whether it exists.
#[tokio::test(flavor = "multi_thread")]
async fn foreign_agents_look_missing() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    let owner = operator.agent("acme", "support").await;
    let stranger = operator.agent("globex", "globex-support").await;
    owner.create("there").await;
    let as_foreign = Agent::new(stranger.caller().clone(), owner.id());
    let as_missing = Agent::new(stranger.caller().clone(), "nobody");
    let foreign = rejections(&as_foreign, "there").await;
    let missing = rejections(&as_missing, "there").await;
    assert_eq!(foreign, missing);
    assert!(foreign.iter().all(|(code, ..)| *code == Code::NotFound), "{foreign:?}");
    let made = |agent: Agent| async move { agent.try_create(agent.create_request("new")).await };
    let (foreign, missing) = (made(as_foreign.clone()).await, made(as_missing.clone()).await);
    assert_eq!(status_parts(&foreign.expect_err("a refusal")), status_parts(&missing.expect_err("a refusal")));
    let listed = |agent: Agent| async move {
        let request = agent.conversations_request(Filter::WholeTenant(read::WholeTenant {}));
        agent.try_conversations(request).await
    };
    let (foreign, missing) = (listed(as_foreign).await, listed(as_missing).await);
    assert_eq!(status_parts(&foreign.expect_err("a refusal")), status_parts(&missing.expect_err("a refusal")));
    assert_eq!(owner.version("new").await, 0);
}

/// Headers with a tenant are ignored, and no request has a field for one.
#[tokio::test(flavor = "multi_thread")]
async fn requests_cannot_name_a_tenant() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    let owner = operator.agent("acme", "support").await;
    let stranger = operator.agent("globex", "globex-support").await;
    owner.create("c").await;
    for name in ["tenant", "tenant-id", "tenant_id", "x-tenant-id", "x-hansard-tenant"] {
        let caller = stranger.caller().with_header(name, "acme");
        let posing = Agent::new(caller, stranger.id());
        assert_eq!(posing.version("c").await, 0, "{name}");
        let missing = posing.try_append(posing.append_request("c", vec![user("x")])).await;
        assert_eq!(missing.expect_err("a refusal").code(), Code::NotFound, "{name}");
    }
    let descriptors = wire::proto::FILE_DESCRIPTOR_SET;
    let set: prost_types::FileDescriptorSet = prost::Message::decode(descriptors).unwrap();
    let files = set.file.iter().filter(|file| {
        ["hansard.write.v1", "hansard.read.v1", "hansard.history.v1", "hansard.document.v1"].contains(&file.package())
    });
    let messages = files.flat_map(|file| &file.message_type);
    for message in messages.filter(|message| message.name().ends_with("Request")) {
        let named = message.field.iter().any(|field| field.name().contains("tenant_id"));
        assert!(!named, "{}", message.name());
    }
}
