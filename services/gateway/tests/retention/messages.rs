//! Conversations with too many messages are archived.

use domain::{Annotation, EventKind, Fact, Status};
use read_model::{EventQuery, head_and_events};
use registry::Scope;
use wire::commit::decode_event;
use wire::proto::run::v1::{FinishRunRequest, StartRunRequest};
use wire::proto::write::v1::RestoreConversationRequest;

use crate::callers::{session, target};
use crate::stack::{START, Stack, rules};

const RUN: &str = "019ab000-0000-7000-8000-000000000001";

#[tokio::test(flavor = "multi_thread")]
async fn long_conversations_are_archived_with_a_note() {
    let stack = Stack::start().await;
    stack.agent("brief", rules(2, 0, 0)).await;
    stack.agent("free", rules(0, 0, 0)).await;
    for (agent, id, messages) in [("brief", "at", 2), ("brief", "past", 3), ("free", "free", 9)] {
        stack.create(agent, id, session("s"), START).await;
        stack.say(agent, id, messages).await;
    }
    assert_eq!(stack.round().await.changed, 1);
    let check = async |id: &str, status: Status, version: u64| {
        let head = stack.head(id).await;
        assert_eq!((head.status, head.version.0), (status, version), "{id}");
    };
    check("at", Status::Active, 3).await;
    check("past", Status::Archived, 6).await;
    check("free", Status::Active, 10).await;
    assert_eq!(stack.round().await.changed, 0);
    check("past", Status::Archived, 6).await;
    stack.projected().await;
    let (topic, text) = note(&stack, "past").await;
    assert_eq!(topic, "retention");
    assert_eq!(text, "archived: it holds 3 messages, at most 2 may be");
    // A restored conversation is still too long.
    let request = RestoreConversationRequest { target: Some(target("brief", "past")) };
    stack.writer().restore_conversation(request).await.unwrap();
    assert_eq!(stack.round().await.changed, 1);
    check("past", Status::Archived, 9).await;
}

/// The topic and the text of a conversation's last note, from its row.
async fn note(stack: &Stack, id: &str) -> (String, String) {
    let registry = &stack.deps.registry;
    let principal = registry.authenticate(stack.deps.token.expose(), domain::Timestamp(0)).await.unwrap();
    let agent = domain::AgentId::parse("brief").unwrap();
    let access = registry.authorize(&principal, Scope::Read, &agent).await.unwrap();
    let query = EventQuery { kinds: vec![EventKind::SystemNoted], ..EventQuery::latest(1, u64::MAX) };
    let id = domain::ConversationId::parse(id).unwrap();
    let (_, events) = head_and_events(&stack.deps.read_model, &access.tenant, &id, &query).await.unwrap().unwrap();
    let event = decode_event(events.first().unwrap().bytes.clone()).unwrap();
    let Fact::Annotation(Annotation::SystemNoted(noted)) = event.fact else {
        panic!("another fact");
    };
    (noted.topic.unwrap().as_str().to_owned(), noted.text)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_with_an_active_run_is_skipped() {
    let stack = Stack::start().await;
    stack.agent("strict", rules(1, 0, 1)).await;
    stack.create("strict", "c", session("s"), START).await;
    stack.say("strict", "c", 2).await;
    let mut service = stack.client().runs();
    let start =
        StartRunRequest { target: Some(target("strict", "c")), run_id: RUN.to_owned(), ..StartRunRequest::default() };
    service.start_run(start).await.unwrap();
    stack.clock.set(i64::MAX);
    assert_eq!(stack.round().await.changed, 0);
    let head = stack.head("c").await;
    assert_eq!((head.status, head.version.0), (Status::Active, 4));
    let finish = FinishRunRequest {
        target: Some(target("strict", "c")),
        run_id: RUN.to_owned(),
        outcome: wire::proto::event::v1::RunOutcome::Stopped.into(),
        ..FinishRunRequest::default()
    };
    service.finish_run(finish).await.unwrap();
    assert_eq!(stack.round().await.changed, 1);
    assert_eq!(stack.head("c").await.status, Status::Erased);
}
