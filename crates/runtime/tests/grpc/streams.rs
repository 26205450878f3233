//! Streams: no unary deadline, places of their own, an end at the drain.

use futures::stream::{self, StreamExt};
use runtime::grpc::Drained;
use tokio::time::{Duration, Instant};
use tonic::Code;

use crate::echo::{CHAT, WATCH};
use crate::stack::{next, serve};

fn one(text: &str) -> impl futures::Stream<Item = String> + Send + 'static {
    stream::iter([text.to_owned()])
}

#[tokio::test]
async fn a_stream_outlives_the_unary_deadline_but_not_its_own() {
    let stack = serve(|c| c.unary_timeout_ms = 50).await;
    let client = stack.client().await;
    let mut free = client.stream(WATCH, one("free"), None).await.unwrap();
    let mut bound = client
        .stream(WATCH, one("bound"), Some("300m"))
        .await
        .unwrap();
    let started = Instant::now();
    assert_eq!(next(&mut free).await.unwrap().unwrap(), "free");
    assert_eq!(next(&mut bound).await.unwrap().unwrap(), "bound");
    let status = next(&mut bound).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert!(
        started.elapsed() > Duration::from_millis(200),
        "{:?}",
        started.elapsed()
    );
    let silent = tokio::time::timeout(Duration::from_millis(1), free.message()).await;
    assert!(silent.is_err(), "{silent:?}");
    stack.drained().await;
}

#[tokio::test]
async fn streams_have_places_of_their_own_until_they_end() {
    let stack = serve(|c| {
        c.streams_max = 1;
        c.calls_max = 1;
    })
    .await;
    let client = stack.client().await;
    let mut first = client.stream(WATCH, one("first"), None).await.unwrap();
    assert_eq!(next(&mut first).await.unwrap().unwrap(), "first");
    let shed = client.stream(WATCH, one("second"), None).await.unwrap_err();
    assert_eq!(
        shed.message(),
        "server is at its bound of 1 streams; try again later"
    );
    assert_eq!(client.say("hello").await.unwrap(), "hello");
    drop(first);
    let deadline = Instant::now() + crate::stack::DEADLINE;
    while client.stream(WATCH, one("third"), None).await.is_err() {
        assert!(
            Instant::now() < deadline,
            "the place of an ended stream is never freed"
        );
        tokio::task::yield_now().await;
    }
    stack.drained().await;
}

#[tokio::test]
async fn a_drain_ends_idle_watchers_and_lets_a_chat_say_its_last() {
    let stack = serve(|_| {}).await;
    let client = stack.client().await;
    let mut watch = client.stream(WATCH, one("x"), None).await.unwrap();
    let chat = one("a").chain(stream::pending());
    let mut chat = client.stream(CHAT, chat, None).await.unwrap();
    assert_eq!(next(&mut watch).await.unwrap().unwrap(), "x");
    assert_eq!(next(&mut chat).await.unwrap().unwrap(), "a");

    let started = Instant::now();
    let drained = tokio::spawn(stack.drained());
    let status = next(&mut watch).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    assert_eq!(status.message(), "server is shutting down; connect again");
    assert_eq!(next(&mut chat).await.unwrap().unwrap(), "bye");
    assert_eq!(next(&mut chat).await.unwrap(), None);
    assert_eq!(drained.await.unwrap(), Drained::Clean);
    assert!(
        started.elapsed() < Duration::from_secs(3),
        "{:?}",
        started.elapsed()
    );
}
