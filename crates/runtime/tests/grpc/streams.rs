//! Streams: no unary deadline, their own slots, and their end in a drain.

use futures::stream::{self, StreamExt};
use runtime::grpc::Drained;
use tokio::time::{Duration, Instant};
use tonic::Code;

use crate::echo::{CHAT, WATCH};
use crate::stack::{eventually, next, serve};

fn one(text: &str) -> impl futures::Stream<Item = String> + Send + 'static {
    stream::iter([text.to_owned()])
}

/// The paused clock advances only when all tasks are idle: a busy machine reaches no deadline early.
#[tokio::test(start_paused = true)]
async fn a_stream_outlives_the_unary_deadline_but_not_its_own() {
    let stack = serve(|c| c.unary_timeout_ms = 50).await;
    let client = stack.client().await;
    let mut free = client.stream(WATCH, one("free"), None).await.unwrap();
    let mut bound = client.stream(WATCH, one("bound"), Some("300m")).await.unwrap();
    let started = Instant::now();
    assert_eq!(next(&mut free).await.unwrap().unwrap(), "free");
    assert_eq!(next(&mut bound).await.unwrap().unwrap(), "bound");
    let status = next(&mut bound).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    let elapsed = started.elapsed();
    assert!(elapsed > Duration::from_millis(200), "{elapsed:?}");
    let silent = tokio::time::timeout(Duration::from_millis(1), free.message()).await;
    assert!(silent.is_err(), "{silent:?}");
    stack.drained().await;
}

#[tokio::test]
async fn streams_have_their_own_slots_until_they_end() {
    let stack = serve(|c| {
        c.streams_max = 1;
        c.calls_max = 1;
    })
    .await;
    let client = stack.client().await;
    let mut first = client.stream(WATCH, one("first"), None).await.unwrap();
    assert_eq!(next(&mut first).await.unwrap().unwrap(), "first");
    let rejected = client.stream(WATCH, one("second"), None).await;
    assert_eq!(rejected.unwrap_err().message(), "the server is at its limit of 1 streams; try again later");
    assert_eq!(client.say("hello").await.unwrap(), "hello");
    drop(first);
    eventually("the slot is released", async || client.stream(WATCH, one("third"), None).await.is_ok()).await;
    stack.drained().await;
}

#[tokio::test]
async fn a_drain_ends_idle_watchers_and_a_chat_sends_its_last_message() {
    let stack = serve(|_| {}).await;
    let client = stack.client().await;
    let mut watch = client.stream(WATCH, one("x"), None).await.unwrap();
    let mut chat = client.stream(CHAT, one("a").chain(stream::pending()), None).await.unwrap();
    assert_eq!(next(&mut watch).await.unwrap().unwrap(), "x");
    assert_eq!(next(&mut chat).await.unwrap().unwrap(), "a");

    let drained = tokio::spawn(stack.drained());
    let status = next(&mut watch).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    assert_eq!(status.message(), "the server is shutting down; connect again");
    assert_eq!(next(&mut chat).await.unwrap().unwrap(), "bye");
    assert_eq!(next(&mut chat).await.unwrap(), None);
    assert_eq!(drained.await.unwrap(), Drained::Clean);
}
