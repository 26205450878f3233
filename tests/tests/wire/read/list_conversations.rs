//! `ListConversations`: four filters, statuses, and pages by key over equal times.

use prost_types::Timestamp;
use tests::agent::Agent;
use tests::events::{session, user, user_owner};
use tests::stack::{Setup, Stack};
use wire::proto::event::v1::{ConversationStatus, Owner};
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::list_conversations_request::Filter;

fn request(agent: &Agent, filter: Filter) -> proto::ListConversationsRequest {
    agent.conversations_request(filter)
}

async fn list_ids(agent: &Agent, request: proto::ListConversationsRequest) -> Vec<String> {
    let conversations = agent.conversations(request).await;
    conversations.into_iter().map(|conversation| conversation.conversation_id).collect()
}

async fn create(agent: &Agent, id: &str, owner: Owner) -> u64 {
    let mut request = agent.create_request(id);
    request.owner = Some(owner);
    agent.try_create(request).await.expect("a conversation").version
}

#[tokio::test(flavor = "multi_thread")]
async fn each_filter_finds_its_own_newest_first() {
    let stack = Setup::tasks().start().await;
    let operator = stack.operator().await;
    let support = operator.agent("acme", "support").await;
    let sales = operator.agent("acme", "sales").await;
    let foreign = operator.agent("globex", "globex-support").await;
    let conversations = [
        (&support, "a", session("s")),
        (&support, "b", user_owner("s")),
        (&sales, "c", session("s")),
        (&support, "d", session("t")),
        (&sales, "e", user_owner("u")),
        (&foreign, "a", session("s")),
        (&foreign, "f", user_owner("u")),
    ];
    for (agent, id, owner) in conversations {
        create(agent, id, owner).await;
        agent.wait_for_rows(id, 1).await;
    }
    // The latest event decides, not the creation.
    support.append("a", vec![user("x")]).await;
    support.wait_for_rows("a", 2).await;
    let check = async |agent: &Agent, filter: Filter, expected: &[&str]| {
        assert_eq!(list_ids(agent, request(agent, filter.clone())).await, expected, "{filter:?}");
    };
    let of_session = |id: &str| Filter::SessionId(id.to_owned());
    let of_user = |id: &str| Filter::UserId(id.to_owned());
    let agents = || Filter::WholeAgent(proto::WholeAgent {});
    let tenants = || Filter::WholeTenant(proto::WholeTenant {});
    check(&support, of_session("s"), &["a"]).await;
    check(&support, of_session("t"), &["d"]).await;
    check(&support, of_session("u"), &[]).await;
    check(&support, of_user("s"), &["b"]).await;
    check(&support, agents(), &["a", "d", "b"]).await;
    check(&support, tenants(), &["a", "e", "d", "c", "b"]).await;
    check(&sales, of_session("s"), &["c"]).await;
    check(&sales, of_user("u"), &["e"]).await;
    check(&sales, agents(), &["e", "c"]).await;
    check(&sales, tenants(), &["a", "e", "d", "c", "b"]).await;
    check(&foreign, of_session("s"), &["a"]).await;
    check(&foreign, tenants(), &["f", "a"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statuses() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    for id in ["active", "archived", "restored", "erased"] {
        agent.create(id).await;
    }
    agent.try_archive(agent.target("archived")).await.expect("archived");
    agent.try_archive(agent.target("restored")).await.expect("archived");
    agent.try_restore(agent.target("restored")).await.expect("restored");
    agent.wait_for_rows("active", 1).await;
    agent.wait_for_rows("archived", 2).await;
    agent.wait_for_rows("restored", 3).await;
    agent.wait_for_rows("erased", 1).await;
    agent.try_erase(agent.target("erased")).await.expect("erased");
    tests::eventually::eventually("an erased row", || async {
        agent.try_get(agent.eventual_target("erased")).await.err()
    })
    .await;
    let check = async |status: ConversationStatus, expected: &[&str]| {
        for filter in [
            Filter::SessionId("s".to_owned()),
            Filter::WholeAgent(proto::WholeAgent {}),
            Filter::WholeTenant(proto::WholeTenant {}),
        ] {
            let mut request = request(&agent, filter);
            request.status = status.into();
            let mut seen = list_ids(&agent, request).await;
            seen.sort();
            assert_eq!(seen, expected, "{status:?}");
        }
    };
    check(ConversationStatus::Unspecified, &["active", "archived", "restored"]).await;
    check(ConversationStatus::Active, &["active", "restored"]).await;
    check(ConversationStatus::Archived, &["archived"]).await;
    check(ConversationStatus::Erased, &[]).await;
}

/// Conversations with the same time, by many callers: every page size returns each once, in one order.
#[tokio::test(flavor = "multi_thread")]
async fn pages_give_each_conversation_once() {
    const COUNT: usize = 23;
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let ids: Vec<String> = (0..COUNT).map(|index| format!("c{index:02}")).collect();
    futures::future::join_all(ids.iter().map(|id| agent.create(id))).await;
    for id in &ids {
        agent.wait_for_rows(id, 1).await;
    }
    let all = list_ids(&agent, request(&agent, Filter::WholeAgent(proto::WholeAgent {}))).await;
    assert_eq!(all.len(), COUNT);
    for filter in [
        Filter::SessionId("s".to_owned()),
        Filter::WholeAgent(proto::WholeAgent {}),
        Filter::WholeTenant(proto::WholeTenant {}),
    ] {
        for page_size in [1, 2, 5, 22, 23, 24] {
            let mut request = request(&agent, filter.clone());
            request.page_size = page_size;
            assert_eq!(list_ids(&agent, request).await, all, "{filter:?} by {page_size}");
        }
    }
}

/// The times of events count, but not later than their time of record.
#[tokio::test(flavor = "multi_thread")]
async fn imported_times_do_not_move_a_conversation() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    for id in ["first", "second"] {
        agent.create(id).await;
    }
    let messages_at = |seconds| {
        let mut event = user("x");
        event.occurred_at = Some(Timestamp { seconds, nanos: 0 });
        vec![event]
    };
    agent.append("first", messages_at(1_000_000_000)).await;
    agent.wait_for_rows("first", 2).await;
    agent.wait_for_rows("second", 1).await;
    let order = async || list_ids(&agent, request(&agent, Filter::SessionId("s".to_owned()))).await;
    assert_eq!(order().await, ["second", "first"]);
    let written = agent.append("first", messages_at(9_000_000_000)).await;
    agent.wait_for_rows("first", 3).await;
    assert_eq!(order().await, ["first", "second"]);
    assert_eq!(agent.conversation("first").await.last_event_at, written.recorded_at);
}

#[tokio::test(flavor = "multi_thread")]
async fn listed_conversations_equal_get() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    agent.append("c", vec![user("x"), tests::events::call("1", "{}")]).await;
    agent.wait_for_rows("c", 3).await;
    let listed = agent.conversations(request(&agent, Filter::SessionId("s".to_owned()))).await;
    assert_eq!(listed, [agent.conversation("c").await]);
}
