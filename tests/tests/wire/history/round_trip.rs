//! Recorded messages are loaded, for callers of every kind.

use tests::agent::Agent;
use tests::stack::{Setup, Stack};
use wire::proto::event::v1 as event;
use wire::proto::event::v1::owner::Kind;
use wire::proto::history::v1 as proto;
use wire::proto::read::v1::WholeAgent;
use wire::proto::read::v1::list_conversations_request::Filter;

use super::calls::{key, load, load_request, record, short, try_load};

/// Records, and checks the number of new messages and the loaded messages.
async fn check(agent: &Agent, key: &proto::HistoryKey, current: &[&str], new: u32, whole: &[&str]) {
    let recorded = record(agent, key, current).await;
    assert_eq!(recorded.appended_count, new, "{current:?}");
    let loaded = load(agent, key, &[]).await;
    assert_eq!(short(&loaded.messages), whole, "{current:?}");
    assert_eq!(loaded.version, recorded.version, "{current:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_of_every_kind() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    let newest = key(&agent, "newest");
    assert_eq!(load(&agent, &newest, &["u 1"]).await.version, 0);
    check(&agent, &newest, &["u 1"], 1, &["u 1"]).await;
    check(&agent, &newest, &["a 2"], 1, &["u 1", "a 2"]).await;
    check(&agent, &newest, &["u 1"], 1, &["u 1", "a 2", "u 1"]).await;
    check(&agent, &newest, &[], 0, &["u 1", "a 2", "u 1"]).await;
    let turns = key(&agent, "turns");
    check(&agent, &turns, &["u 1", "a 2"], 2, &["u 1", "a 2"]).await;
    check(&agent, &turns, &["u 1", "a 2"], 0, &["u 1", "a 2"]).await;
    let thread = key(&agent, "thread");
    check(&agent, &thread, &["s be kind", "u 1"], 1, &["u 1"]).await;
    check(&agent, &thread, &["s be brief", "u 1", "a 2", "u 3"], 2, &["u 1", "a 2", "u 3"]).await;
    let nothing = key(&agent, "nothing");
    check(&agent, &nothing, &[], 0, &[]).await;
    check(&agent, &nothing, &["s be kind"], 0, &[]).await;
}

/// The messages of a load with a limit, and whether older ones were omitted.
async fn check_load(agent: &Agent, key: &proto::HistoryKey) {
    for (max, current, expected, truncated) in [
        (0, &["u 5"][..], &["u 1", "a 2", "u 3", "a 4", "u 5"][..], false),
        (4, &[], &["u 1", "a 2", "u 3", "a 4"], false),
        (3, &["u 5"], &["u 3", "a 4", "u 5"], true),
        (3, &[], &["a 2", "u 3", "a 4"], true),
        (2, &["s kind", "u 3", "a 4", "u 5"], &["s kind", "u 5"], true),
        (1_000, &["u 1", "a 2", "u 3", "a 4"], &["u 1", "a 2", "u 3", "a 4"], false),
    ] {
        let request = proto::LoadHistoryRequest { messages_max: max, ..load_request(key, current) };
        let loaded = try_load(agent, request).await.expect("a history");
        assert_eq!(short(&loaded.messages), expected, "{max} of {current:?}");
        assert_eq!(loaded.truncated, truncated, "{max} of {current:?}");
    }
}

/// From the record, and from the rows.
#[tokio::test(flavor = "multi_thread")]
async fn loads_are_merged_and_trimmed() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    stack.projector.stop().await;
    let key = key(&agent, "room");
    let recorded = record(&agent, &key, &["u 1", "a 2", "u 3", "a 4"]).await;
    check_load(&agent, &key).await;
    stack.projector.start().await;
    agent.wait_for_rows(&recorded.conversation_id, recorded.version).await;
    check_load(&agent, &key).await;
}

/// Without the projector, the newest messages are loaded from the record.
#[tokio::test(flavor = "multi_thread")]
async fn loads_include_earlier_records() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    let key = key(&agent, "room");
    let begun = record(&agent, &key, &["u 1"]).await;
    agent.wait_for_rows(&begun.conversation_id, begun.version).await;
    stack.projector.stop().await;
    record(&agent, &key, &["u 1", "a 2"]).await;
    record(&agent, &key, &["u 3"]).await;
    assert_eq!(short(&load(&agent, &key, &[]).await.messages), ["u 1", "a 2", "u 3"]);
}

/// The ids of the conversations in a listing.
async fn list_conversations(agent: &Agent, filter: Filter) -> Vec<(String, Option<event::Owner>)> {
    let request = agent.conversations_request(filter);
    let page = agent.try_conversations(request).await.expect("a page").conversations.into_iter();
    page.map(|one| (one.conversation_id, one.owner)).collect()
}

/// A history is a conversation of its channel. It does not belong to a session of the same name.
#[tokio::test(flavor = "multi_thread")]
async fn other_services_return_the_history() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    for name in ["telegram:42".to_owned(), "用".repeat(200)] {
        let recorded = record(&agent, &key(&agent, &name), &["u 1", "a 2"]).await;
        assert_eq!((recorded.version, &recorded.history_key), (3, &name));
        agent.wait_for_rows(&recorded.conversation_id, 3).await;
        let kind = Kind::ChannelId(recorded.channel_id.clone());
        let owner = event::Owner { kind: Some(kind) };
        let expected = [(recorded.conversation_id, Some(owner))];
        let of_channel = Filter::ChannelId(recorded.channel_id.clone());
        assert_eq!(list_conversations(&agent, of_channel).await, expected);
        assert!(list_conversations(&agent, Filter::WholeAgent(WholeAgent {})).await.contains(&expected[0]));
        let name = recorded.channel_id;
        for filter in [Filter::SessionId(name.clone()), Filter::UserId(name)] {
            assert_eq!(list_conversations(&agent, filter).await, []);
        }
    }
}
