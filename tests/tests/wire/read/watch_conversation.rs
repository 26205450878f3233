//! `WatchConversation`: history, then live events, without gaps or duplicates, independent of the projector.

use futures::StreamExt as _;
use tests::agent::Agent;
use tests::errors::check_failure;
use tests::events::user;
use tests::eventually::within;
use tests::stack::{Setup, Stack};
use tonic::{Code, Status, Streaming};
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::watch_conversation_response::Item;

pub(super) struct Watch(Streaming<proto::WatchConversationResponse>);

impl Watch {
    pub(super) async fn of(agent: &Agent, conversation: &str, from_version: u64) -> Self {
        let request = agent.watch_request(conversation, from_version);
        let watch = agent.caller().read().watch_conversation(request).await;
        Self(watch.expect("a watch").into_inner())
    }

    pub(super) async fn next(&mut self) -> Result<Item, Status> {
        let response = within("the next of a watch", self.0.next()).await;
        Ok(response.expect("an event")?.item.expect("an item"))
    }

    /// The versions up to the end of the history, and the version in its sign.
    pub(super) async fn history(&mut self) -> (Vec<u64>, u64) {
        let mut versions = Vec::new();
        loop {
            match self.next().await.expect("an item") {
                Item::Event(event) => versions.push(event.version),
                Item::CaughtUp(caught_up) => return (versions, caught_up.version),
            }
        }
    }

    /// The versions of this many next events.
    pub(super) async fn live(&mut self, count: usize) -> Vec<u64> {
        let mut versions = Vec::new();
        while versions.len() < count {
            match self.next().await.expect("an item") {
                Item::Event(event) => versions.push(event.version),
                Item::CaughtUp(_) => panic!("history twice"),
            }
        }
        versions
    }
}

fn range(first: u64, last: u64) -> Vec<u64> {
    (first..=last).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn history_then_live_from_every_version() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    agent.append("c", vec![user("2"), user("3")]).await;
    agent.wait_for_rows("c", 3).await;
    stack.projector.stop().await;
    agent.append("c", vec![user("4"), user("5")]).await;
    let mut watches = Vec::new();
    for from in 0..=6 {
        let mut watch = Watch::of(&agent, "c", from).await;
        assert_eq!(watch.history().await, (range(from.max(1), 5), 5), "from {from}");
        watches.push(watch);
    }
    agent.append("c", vec![user("6"), user("7")]).await;
    stack.projector.start().await;
    agent.append("c", vec![user("8")]).await;
    for (from, mut watch) in watches.into_iter().enumerate() {
        assert_eq!(watch.live(3).await, range(6, 8), "from {from}");
    }
}

/// A watch that starts under load: each event arrives once, in order, as history or live.
#[tokio::test(flavor = "multi_thread")]
async fn watches_started_under_load() {
    const EVENTS: u64 = 600;
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    let writing = {
        let agent = agent.clone();
        tokio::spawn(async move {
            for _ in 0..EVENTS / 3 {
                agent.append("c", vec![user("x"), user("y"), user("z")]).await;
            }
        })
    };
    let mut watching = Vec::new();
    for number in 0..6 {
        if number == 3 {
            stack.projector.stop().await;
        }
        let mut watch = Watch::of(&agent, "c", 1).await;
        watching.push(tokio::spawn(async move {
            let (mut versions, caught_up) = watch.history().await;
            assert_eq!(versions, range(1, caught_up));
            let left = usize::try_from(EVENTS + 1).unwrap() - versions.len();
            versions.extend(watch.live(left).await);
            versions
        }));
    }
    within("the writer", writing).await.expect("everything written");
    for watch in watching {
        assert_eq!(within("a watch", watch).await.expect("a watch"), range(1, EVENTS + 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_history_is_sent_whole() {
    let stack = Stack::shared().await;
    let agent = stack.any_agent().await;
    agent.create("c").await;
    for _ in 0..6 {
        agent.append("c", vec![user("x"); 300]).await;
    }
    let mut watch = Watch::of(&agent, "c", 0).await;
    assert_eq!(watch.history().await, (range(1, 1_801), 1_801));
}

/// A watch only returns events of its conversation, also if another tenant has the same id.
#[tokio::test(flavor = "multi_thread")]
async fn watches_return_only_their_conversation() {
    let stack = Stack::shared().await;
    let (one, two) = (stack.any_agent().await, stack.any_agent().await);
    for agent in [&one, &two] {
        agent.create("c").await;
    }
    let (mut first, mut second) = (Watch::of(&one, "c", 2).await, Watch::of(&two, "c", 2).await);
    assert_eq!((first.history().await, second.history().await), ((vec![], 1), (vec![], 1)));
    one.append("c", vec![user("of one"), user("of one")]).await;
    two.append("c", vec![user("of two")]).await;
    for (watch, text, count) in [(&mut first, "of one", 2), (&mut second, "of two", 1)] {
        for _ in 0..count {
            let Ok(Item::Event(event)) = watch.next().await else { panic!() };
            assert_eq!(tests::events::text_of(&event).as_deref(), Some(text));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_ends_with_its_conversation_and_with_the_gateway() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    agent.create("erased").await;
    agent.create("c").await;
    let mut watch = Watch::of(&agent, "erased", 2).await;
    watch.history().await;
    agent.try_erase(agent.target("erased")).await.expect("erased");
    let gone = (Code::NotFound, "CONVERSATION_NOT_FOUND", "");
    check_failure("an erased conversation", watch.next().await, gone);
    let mut watch = Watch::of(&agent, "c", 2).await;
    watch.history().await;
    stack.gateway.stop().await;
    let failure: tests::errors::Failure = watch.next().await.expect_err("the end").into();
    assert_eq!(failure.code, Code::Unavailable, "{failure:?}");
    assert!(failure.retry_after.is_some(), "{failure:?}");
}
