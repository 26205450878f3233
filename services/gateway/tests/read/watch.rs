//! Watches of conversations.

use std::time::Duration;

use devstack::test;
use tokio::time::timeout;
use tonic::{Code, Status, Streaming};
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::watch_conversation_response::Item;

use crate::author::Author;
use crate::client::{DEADLINE, watch_request};
use crate::errors::check;
use crate::facts::{note, user};
use crate::stack::{Stack, run, shared};

type Responses = Streaming<proto::WatchConversationResponse>;

#[test]
fn history_then_live_without_a_gap_or_a_repeat() {
    run(async {
        let mut author = Author::begin(shared().await).await;
        author.append(vec![user("1"), note()]).await;
        author.append(vec![user("2")]).await;
        for (projected, from) in [(0, 0), (1, 1), (2, 3), (3, 5)] {
            author.project(projected).await;
            let mut watching = watch(&author, from).await;
            let history: Vec<u64> = (from.max(1)..=author.version()).collect();
            expect(&mut watching, &history).await;
            assert_eq!(caught_up(&mut watching).await, author.version());
            let next = author.version() + 1;
            author.append(vec![user("live"), note(), note()]).await;
            author.append(vec![user("live")]).await;
            expect(&mut watching, &[next, next + 1, next + 2, next + 3]).await;
            author.project_all().await;
            author = Author::begin(shared().await).await;
            author.append(vec![user("1"), note()]).await;
            author.append(vec![user("2")]).await;
        }
    });
}

#[test]
fn commits_during_history_come_once() {
    run(async {
        let mut author = Author::begin(shared().await).await;
        for _ in 0..30 {
            author.append((0..20).map(|_| note()).collect()).await;
        }
        let mut watching = watch(&author, 1).await;
        for _ in 0..30 {
            author.append(vec![note(), note()]).await;
        }
        let mut next = 1;
        while next <= author.version() {
            match item(&mut watching).await {
                Item::Event(event) => {
                    assert_eq!(event.version, next);
                    next += 1;
                }
                Item::CaughtUp(caught_up) => assert_eq!(caught_up.version, next - 1),
            }
        }
    });
}

#[test]
fn a_slow_reader_misses_nothing() {
    run(async {
        let mut author = Author::begin(shared().await).await;
        let mut watching = watch(&author, 1).await;
        let text = "x".repeat(100 * 1024);
        for _ in 0..200 {
            author.append(vec![user(&text)]).await;
        }
        let mut next = 1;
        while next <= author.version() {
            if let Item::Event(event) = item(&mut watching).await {
                assert_eq!(event.version, next);
                next += 1;
            }
        }
    });
}

#[test]
fn an_erasure_ends_the_stream() {
    run(async {
        let mut author = Author::begin(shared().await).await;
        author.append(vec![user("1")]).await;
        let mut watching = watch(&author, 1).await;
        expect(&mut watching, &[1, 2]).await;
        caught_up(&mut watching).await;
        author.erase().await;
        check(end(&mut watching).await, Code::NotFound, "CONVERSATION_NOT_FOUND", "");
    });
}

#[test]
fn a_drain_ends_the_stream() {
    run(async {
        let author = Author::begin(shared().await).await;
        let (client, shutdown) = shared().await.gateway_with(|_| ()).await;
        let mut watching = client.watch(watch_request(&author, 1)).await.unwrap();
        expect(&mut watching, &[1]).await;
        caught_up(&mut watching).await;
        shutdown.begin();
        let status = end(&mut watching).await.unwrap_err();
        assert_eq!(status.code(), Code::Unavailable);
        shutdown.wait(DEADLINE).await.unwrap();
    });
}

#[test]
fn the_number_of_watchers_is_limited() {
    run(async {
        let author = Author::begin(shared().await).await;
        let few = |config: &mut gateway::GatewayConfig| config.watchers_max = 2;
        let (client, shutdown) = shared().await.gateway_with(few).await;
        let one = client.watch(watch_request(&author, 1)).await.unwrap();
        let _other = client.watch(watch_request(&author, 1)).await.unwrap();
        let status = client.watch(watch_request(&author, 1)).await.unwrap_err();
        assert_eq!(status.code(), Code::ResourceExhausted);
        drop(one);
        let again = async {
            while client.watch(watch_request(&author, 1)).await.is_err() {
                tokio::task::yield_now().await;
            }
        };
        timeout(DEADLINE, again).await.expect("a permit is free");
        shutdown.begin();
    });
}

#[test]
fn a_watch_outlives_the_server_of_the_record() {
    run(async {
        let mut nats = test::nats().await;
        let stack = Stack::over(&nats, &test::database().await.url).await;
        let mut author = Author::begin(&stack).await;
        let mut watching = watch(&author, 1).await;
        expect(&mut watching, &[1]).await;
        caught_up(&mut watching).await;
        for round in 0..2 {
            nats.kill();
            nats.restart().await.unwrap();
            let first = author.version() + 1;
            append_until_done(&mut author).await;
            author.append(vec![user("after")]).await;
            expect(&mut watching, &[first, first + 1]).await;
            assert_eq!(author.version(), first + 1, "round {round}");
        }
        stack.shutdown.begin();
    });
}

/// Appends when the record answers again: an append during the outage would have an unknown outcome.
async fn append_until_done(author: &mut Author<'_>) {
    let up = async {
        while author.stack.record.check().await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(DEADLINE, up).await.expect("the record answers again");
    author.append(vec![user("again")]).await;
}

async fn watch(author: &Author<'_>, from: u64) -> Responses {
    author.stack.client.watch(watch_request(author, from)).await.unwrap()
}

/// The next events have these versions.
async fn expect(responses: &mut Responses, versions: &[u64]) {
    for version in versions {
        match item(responses).await {
            Item::Event(event) => assert_eq!(event.version, *version),
            other => panic!("version {version} should come, not {other:?}"),
        }
    }
}

async fn caught_up(responses: &mut Responses) -> u64 {
    match item(responses).await {
        Item::CaughtUp(caught_up) => caught_up.version,
        other => panic!("history should have ended: {other:?}"),
    }
}

async fn item(responses: &mut Responses) -> Item {
    let next = timeout(DEADLINE, responses.message()).await.expect("something comes in time");
    next.unwrap().expect("the stream continues").item.unwrap()
}

async fn end(responses: &mut Responses) -> Result<(), Status> {
    let next = timeout(DEADLINE, responses.message()).await.expect("the stream ends in time");
    next.map(drop)
}
