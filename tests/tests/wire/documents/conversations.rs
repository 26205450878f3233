//! Documents of conversations with other events.

use tests::agent::Agent;
use tests::errors::check_failure;
use tests::events::{rewind, user};
use tests::stack::{Setup, Stack};
use tonic::Code;
use wire::proto::document::v1 as proto;
use wire::proto::event::v1 as event;
use wire::proto::write::v1 as write;

use super::calls::{
    keys, of_conversation, put_event, put_request, search_request, try_get, try_put, try_search, versions,
};

const NAME: (&str, &str) = ("checkpoints", "1");

async fn value(agent: &Agent, id: &str, name: (&str, &str)) -> Option<String> {
    let found = try_get(agent, of_conversation(agent, id), name).await;
    found.expect("an answer").map(|document| document.value_json)
}

/// Messages and a document are one commit.
#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_has_documents_beside_its_messages() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let large = format!("\"{}\"", "x".repeat(400_000));
    let events = vec![user("hello"), put_event(NAME, "1"), put_event(("n", "large"), &large)];
    let first = agent.append("c", events).await;
    agent.wait_for_rows("c", first.version).await;
    assert_eq!(value(&agent, "c", NAME).await.as_deref(), Some("1"));
    assert_eq!(value(&agent, "c", ("n", "large")).await, Some(large));
    stack.projector.stop().await;
    agent.append("c", vec![put_event(NAME, "2"), put_event(NAME, "3")]).await;
    agent.append("c", vec![rewind(2), user("again")]).await;
    assert_eq!(value(&agent, "c", NAME).await.as_deref(), Some("3"));
    let request = proto::SearchDocumentsRequest {
        scope: Some(of_conversation(&agent, "c")),
        ..search_request(&agent, "checkpoints", "", &[])
    };
    let expected = (Code::Unavailable, "POSITION_NOT_REACHED", "");
    let found = try_search(&agent, request.clone()).await;
    check_failure("a search without the rows", found, expected);
    let (seen, _) = versions(&agent, of_conversation(&agent, "c"), NAME, (0, 0)).await;
    let values: Vec<&str> = seen.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!(values, ["3", "2", "1"]);
    stack.projector.start().await;
    assert_eq!(keys(&agent, request).await, ["1"]);
    assert_eq!(value(&agent, "c", NAME).await.as_deref(), Some("3"));
    // A search of one conversation includes every earlier write, without a position token.
    for round in 4..24 {
        let value = round.to_string();
        agent.append("c", vec![put_event(NAME, &value)]).await;
        let request = proto::SearchDocumentsRequest {
            scope: Some(of_conversation(&agent, "c")),
            ..search_request(&agent, "checkpoints", "", &[])
        };
        let found = try_search(&agent, request).await.expect("an answer");
        let values: Vec<_> = found.documents.iter().map(|one| &one.value_json).collect();
        assert_eq!(values, [&value]);
    }
    // Documents of conversations are not the agent's own.
    assert_eq!(keys(&agent, search_request(&agent, "", "", &[])).await, Vec::<String>::new());
}

/// A fork does not inherit documents.
#[tokio::test(flavor = "multi_thread")]
async fn forks_have_documents_of_their_own() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let parent = agent.append("c", vec![user("hello"), put_event(NAME, "1")]).await;
    let request = write::CreateConversationRequest {
        forked_from: Some(event::ForkPoint { conversation_id: "c".to_owned(), version: parent.version, depth: 0 }),
        ..agent.create_request("fork")
    };
    agent.try_create(request).await.expect("a fork");
    assert_eq!(value(&agent, "fork", NAME).await, None);
    let own = agent.append("fork", vec![put_event(NAME, "2")]).await;
    assert_eq!(value(&agent, "fork", NAME).await.as_deref(), Some("2"));
    agent.wait_for_rows("fork", own.version).await;
    assert_eq!(value(&agent, "fork", NAME).await.as_deref(), Some("2"));
    assert_eq!(value(&agent, "c", NAME).await.as_deref(), Some("1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_get_documents_by_appends_alone() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let request =
        proto::PutDocumentRequest { scope: Some(of_conversation(&agent, "c")), ..put_request(&agent, NAME, "1") };
    let expected = (Code::InvalidArgument, "FIELD_MALFORMED", "scope.conversation_id");
    check_failure("a put", try_put(&agent, request).await, expected);
    // And documents of agents accept no other events.
    let own = super::calls::put(&agent, NAME, "1").await.conversation_id;
    let request = agent.append_request(&own, vec![user("hello")]);
    let expected = (Code::InvalidArgument, "FIELD_MALFORMED", "events");
    check_failure("a message", agent.try_append(request).await, expected);
    let request =
        write::CreateConversationRequest { events: vec![user("hello")], ..agent.create_request("document:x") };
    check_failure("a creation", agent.try_create(request).await, expected);
    let request = write::ChangeOwnerRequest {
        target: Some(agent.target(&own)),
        owner: Some(tests::events::user_owner("eve")),
        expected_owner: None,
    };
    let changed = agent.caller().write().change_owner(request).await;
    let expected = (Code::FailedPrecondition, "OWNER_FIXED", "");
    check_failure("another owner", changed, expected);
}
