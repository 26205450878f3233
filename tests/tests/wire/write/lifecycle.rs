//! The lifecycle of a conversation: created, written, archived, restored, erased, with a fresh read after every step.

use prost_types::Timestamp;
use tests::agent::Agent;
use tests::events::{assistant, call, fact, note, result, user, user_owner};
use tests::stack::{Setup, Stack};
use tonic::Code;
use uuid::Uuid;
use wire::proto::event::v1::event::Fact;
use wire::proto::event::v1::{ClientContext, ConversationStatus};
use wire::proto::write::v1 as proto;

use super::with;

fn full_request(agent: &Agent) -> proto::CreateConversationRequest {
    proto::CreateConversationRequest {
        owner: Some(user_owner("ada@example.org")),
        title: "Über \u{1F980}".to_owned(),
        metadata_json: r#"{"n": 0.1000000000000000055511151231257827, "b":1, "a":2}"#.to_owned(),
        client_context: Some(ClientContext {
            page_url: "https://example.org/?q=1".to_owned(),
            referrer: "https://example.com/".to_owned(),
            user_agent: "test/1".to_owned(),
            locale: "de-CH".to_owned(),
            timezone: "Europe/Zurich".to_owned(),
            custom_metadata_json: r#"{"ab":"x"}"#.to_owned(),
        }),
        provider_conversation_id: "conv_1".to_owned(),
        ..agent.create_request("telegram:42_a-B")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_fields_of_a_creation_are_stored() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let request = full_request(&agent);
    let made = agent.try_create(request.clone()).await.expect("a conversation");
    assert_eq!((made.first_version, made.version, made.replayed), (1, 1, false));
    assert_eq!(made.conversation_id, request.conversation_id);
    agent.wait_for_rows(&made.conversation_id, 1).await;
    let seen = agent.conversation(&made.conversation_id).await;
    assert_eq!(seen.owner, request.owner);
    assert_eq!((seen.agent_id.as_str(), seen.status()), (agent.id(), ConversationStatus::Active));
    assert_eq!((seen.title, seen.metadata_json), (request.title, request.metadata_json));
    assert_eq!(seen.client_context, request.client_context);
    assert_eq!(seen.provider_conversation_id, request.provider_conversation_id);
    assert_eq!((seen.version, seen.created_at, seen.last_event_at), (1, made.recorded_at, made.recorded_at));
    assert_eq!((seen.totals.unwrap_or_default().commits, seen.chain.len()), (1, 32));
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_ids_become_new_uuids() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let made = agent.try_create(agent.create_request("")).await.expect("a conversation");
        let id = Uuid::parse_str(&made.conversation_id).expect("a UUID");
        assert_eq!(id.get_version_num(), 7);
        assert_eq!(agent.version(&made.conversation_id).await, 1);
        ids.push(id);
    }
    ids.dedup();
    assert_eq!(ids.len(), 3);
    let key = Uuid::now_v7().to_string();
    let request = with(agent.create_request(""), |request| {
        request.idempotency_key = key;
    });
    let first = agent.try_create(request.clone()).await.expect("a conversation");
    let again = agent.try_create(request).await.expect("the same");
    super::check_replayed("a retry without an id of its own", &again, &first);
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_numbered_without_gaps_and_keep_their_ids_and_times() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let id = Uuid::new_v4().to_string();
    let at = Timestamp { seconds: 1_525_289_895, nanos: 123_456_789 };
    let mine = with(user("mine"), |event| {
        event.event_id.clone_from(&id);
        event.occurred_at = Some(at);
        event.metadata_json = r#"{"x": 1e400}"#.to_owned();
    });
    let first = agent.append("c", vec![mine, call("1", "{}"), note("n")]).await;
    let second = agent.append("c", vec![result("1", "null"), assistant("done")]).await;
    assert_eq!((first.first_version, first.version), (2, 4));
    assert_eq!((second.first_version, second.version), (5, 6));
    let events = agent.events(agent.list_request("c")).await;
    assert_eq!(events.iter().map(|event| event.version).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    let commits: Vec<&str> = events[1..].iter().map(|event| event.commit_id.as_str()).collect();
    let (one, two) = (first.commit_id.as_str(), second.commit_id.as_str());
    assert_eq!(commits, [one, one, one, two, two]);
    let mine = events[1].event.clone().expect("an event");
    assert_eq!((mine.event_id, mine.occurred_at), (id, Some(at)));
    assert_eq!(mine.metadata_json, r#"{"x": 1e400}"#);
    let mut ids: Vec<String> = events.iter().filter_map(|event| Some(event.event.as_ref()?.event_id.clone())).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 6);
    // The writer adds the tool's name to a result without it.
    let Fact::ToolReturned(returned) = fact(&events[4]) else { panic!() };
    assert_eq!(returned.tool_name, "search");
    let totals = agent.conversation("c").await.totals.expect("totals");
    assert_eq!((totals.commits, totals.messages), (3, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn archiving_and_restoring_again_changes_nothing() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let steps = [
        ("restore an active one", false, 1),
        ("archive", true, 2),
        ("archive an archived one", true, 2),
        ("restore", false, 3),
        ("restore again", false, 3),
        ("archive again", true, 4),
    ];
    let mut version = 1;
    for (case, archive, expected) in steps {
        let target = agent.target("c");
        let result = if archive { agent.try_archive(target).await } else { agent.try_restore(target).await };
        let result = result.unwrap_or_else(|status| panic!("{case}: {status:?}"));
        let changed = expected != version;
        version = expected;
        assert_eq!(result.version, version, "{case}");
        assert_eq!(result.first_version, if changed { version } else { 0 }, "{case}");
        assert_eq!(result.commit_id.is_empty(), !changed, "{case}");
        assert!(!result.position_token.is_empty(), "{case}");
        let seen = agent.conversation("c").await;
        let status = if archive { ConversationStatus::Archived } else { ConversationStatus::Active };
        assert_eq!((seen.version, seen.status()), (version, status), "{case}");
    }
    agent.try_restore(agent.target("c")).await.expect("restored");
    assert_eq!(agent.append("c", vec![user("x")]).await.version, 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn erased_conversations_are_unreadable_with_and_without_projection() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    for id in ["rows", "tail"] {
        agent.create(id).await;
        agent.append(id, vec![user("secret"), call("1", r#"{"secret":1}"#)]).await;
        agent.wait_for_rows(id, 3).await;
    }
    agent.try_archive(agent.target("rows")).await.expect("an erasure of an archived conversation");
    let erased = agent.try_erase(agent.target("rows")).await.expect("erased");
    assert_eq!(erased.version, 5);
    tests::eventually::eventually("an erased row", || async {
        agent.try_get(agent.eventual_target("rows")).await.err()
    })
    .await;
    stack.projector.stop().await;
    agent.try_erase(agent.target("tail")).await.expect("erased");
    for id in ["rows", "tail"] {
        let again = agent.try_erase(agent.target(id)).await.expect("erasing again");
        assert!(again.commit_id.is_empty() && again.first_version == 0, "{again:?}");
        let outcomes = [
            agent.try_get(agent.read_target(id)).await.err(),
            agent.try_events(agent.list_request(id)).await.err(),
            agent.try_context(agent.read_target(id), 10).await.err(),
        ];
        for status in outcomes {
            assert_eq!(status.expect("nothing to read").code(), Code::NotFound, "{id}");
        }
    }
    stack.projector.start().await;
    let listed = tests::eventually::eventually("an empty list", || async {
        let filter =
            wire::proto::read::v1::list_conversations_request::Filter::WholeAgent(wire::proto::read::v1::WholeAgent {});
        let request = agent.conversations_request(filter);
        let page = agent.try_conversations(request).await.ok()?;
        page.conversations.is_empty().then_some(page)
    });
    assert!(listed.await.next_page_token.is_empty());
}
