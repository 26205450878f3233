//! Page tokens are valid only for their query, with any page size.

use tests::agent::Agent;
use tests::errors::{Expected, check_failure};
use tests::events::user;
use tests::stack::Stack;
use tonic::Code::InvalidArgument;
use wire::proto::event::v1::ConversationStatus;
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::list_conversations_request::Filter;

use crate::write::with;

const OTHER: Expected = (InvalidArgument, "PAGE_TOKEN_OF_OTHER_QUERY", "page_token");

type Events = (&'static str, fn(&Agent, &mut proto::ListEventsRequest));

#[rustfmt::skip]
const OTHER_EVENTS: [Events; 6] = [
    ("another conversation", |agent, r| r.target = Some(agent.read_target("d"))),
    ("another first version", |_, r| r.from_version = 2),
    ("another last version", |_, r| r.to_version = 3),
    ("another direction", |_, r| r.direction = proto::Direction::Backward.into()),
    ("other kinds", |_, r| r.kinds = vec![proto::EventKind::MessageAppended.into()]),
    ("a token that ends early", |_, r| r.page_token.truncate(20)),
];

#[tokio::test(flavor = "multi_thread")]
async fn of_events() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    for id in ["c", "d"] {
        agent.create(id).await;
        agent.append(id, vec![user("x"); 4]).await;
    }
    let first = with(agent.list_request("c"), |r| r.page_size = 2);
    let page_token = agent.try_events(first.clone()).await.expect("a page").next_page_token;
    let next = proto::ListEventsRequest { page_token, ..first };
    for (case, change) in OTHER_EVENTS {
        let request = with(next.clone(), |request| change(&agent, request));
        let (code, reason, field) = OTHER;
        let reason = if case.contains("early") { "PAGE_TOKEN_INVALID" } else { reason };
        check_failure(case, agent.try_events(request).await, (code, reason, field));
    }
    let resized = with(next, |r| r.page_size = 3);
    let page = agent.try_events(resized).await.expect("the same query");
    let versions: Vec<u64> = page.events.iter().map(|event| event.version).collect();
    assert_eq!((versions, page.next_page_token.as_str()), (vec![3, 4, 5], ""));
}

type Listing = (&'static str, fn(&mut proto::ListConversationsRequest));

#[rustfmt::skip]
const OTHER_LISTINGS: [Listing; 4] = [
    ("another filter", |r| r.filter = Some(Filter::WholeTenant(proto::WholeTenant {}))),
    ("a session", |r| r.filter = Some(Filter::SessionId("s".to_owned()))),
    ("a user", |r| r.filter = Some(Filter::UserId("s".to_owned()))),
    ("another status", |r| r.status = ConversationStatus::Archived.into()),
];

#[tokio::test(flavor = "multi_thread")]
async fn of_conversations() {
    let stack = Stack::shared().await;
    let (agent, stranger) = (stack.any_agent().await, stack.any_agent().await);
    for id in ["c", "d"] {
        agent.create(id).await;
        agent.wait_for_rows(id, 1).await;
    }
    let first = agent.conversations_request(Filter::WholeAgent(proto::WholeAgent {}));
    let first = with(first, |r| r.page_size = 1);
    let page_token = agent.try_conversations(first.clone()).await.expect("a page").next_page_token;
    let next = proto::ListConversationsRequest { page_token, ..first };
    for (case, change) in OTHER_LISTINGS {
        let request = with(next.clone(), change);
        check_failure(case, agent.try_conversations(request).await, OTHER);
    }
    let other_agent = with(next.clone(), |r| stranger.id().clone_into(&mut r.agent_id));
    check_failure("another tenant", stranger.try_conversations(other_agent).await, OTHER);
    let of_events = with(agent.list_request("c"), |r| {
        r.page_token.clone_from(&next.page_token);
    });
    check_failure("a token of a listing", agent.try_events(of_events).await, OTHER);
    let resized = with(next, |r| r.page_size = 200);
    let page = agent.try_conversations(resized).await.expect("the same query");
    assert_eq!(page.conversations.len(), 1);
}
