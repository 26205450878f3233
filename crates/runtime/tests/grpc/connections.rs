//! Limits of connections, and of streams whose client does not read.

use std::future::poll_fn;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use futures::stream;
use h2::client::{Builder, SendRequest};
use h2::{Reason, RecvStream};
use http::Request;
use prost::Message;
use tokio::io::AsyncReadExt;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tonic::Code;

use crate::echo::{SAY, WATCH};
use crate::stack::{DEADLINE, Stack, next, serve};

/// A client without a window that answers PINGs.
async fn stalling(stack: &Stack) -> (SendRequest<Bytes>, JoinHandle<Result<(), h2::Error>>) {
    let socket = stack.connect().await;
    let (requests, connection) = Builder::new().initial_window_size(0).handshake(socket).await.unwrap();
    (requests, tokio::spawn(connection))
}

async fn call(requests: &SendRequest<Bytes>, path: &str) -> RecvStream {
    let mut requests = requests.clone().ready().await.unwrap();
    let request =
        Request::post(format!("http://x{path}")).header("content-type", "application/grpc").header("te", "trailers");
    let (response, mut body) = requests.send_request(request.body(()).unwrap(), false).unwrap();
    let message = "x".to_owned().encode_to_vec();
    let mut frame = BytesMut::new();
    frame.put_u8(0);
    frame.put_u32(u32::try_from(message.len()).unwrap());
    frame.put_slice(&message);
    body.send_data(frame.freeze(), true).unwrap();
    timeout(DEADLINE, response).await.unwrap().unwrap().into_body()
}

/// The paused clock advances when all tasks are idle, so that the timeout is reached at once.
#[tokio::test(start_paused = true)]
async fn a_connection_without_a_call_is_closed_after_a_minute() {
    let stack = serve(|_| {}).await;
    let (opened, mut silent) = (Instant::now(), stack.connect().await);
    silent.read_to_end(&mut Vec::new()).await.unwrap();
    check_minute(opened);
    // Replies to PINGs make no difference.
    let opened = Instant::now();
    let (_requests, connection) = stalling(&stack).await;
    drop(connection.await.unwrap());
    check_minute(opened);
}

/// Connections are checked once a second.
fn check_minute(opened: Instant) {
    let open_for = opened.elapsed().as_secs_f64();
    assert!((60.0..61.1).contains(&open_for), "{open_for}");
}

#[tokio::test]
async fn an_unread_call_is_reset_and_its_slot_released() {
    let stack = serve(|c| {
        c.streams_max = 1;
        c.transport.write_timeout_ms = 200;
        c.transport.preempt_after_ms = 600_000;
    })
    .await;
    let (requests, connection) = stalling(&stack).await;
    for path in [WATCH, SAY] {
        let mut body = call(&requests, path).await;
        let error = timeout(DEADLINE, poll_fn(|cx| body.poll_data(cx))).await.unwrap().unwrap().unwrap_err();
        assert_eq!(error.reason(), Some(Reason::CANCEL), "{path}");
    }
    let client = stack.client().await;
    let one = stream::iter(["x".to_owned()]);
    let mut watch = client.stream(WATCH, one, None).await.unwrap();
    assert_eq!(next(&mut watch).await.unwrap().unwrap(), "x");
    assert!(!connection.is_finished());
    stack.drained().await;
}

#[tokio::test]
async fn another_stream_takes_the_slot_of_an_unread_stream() {
    let stack = serve(|c| {
        c.streams_max = 1;
        c.transport.preempt_after_ms = 100;
    })
    .await;
    let (requests, _connection) = stalling(&stack).await;
    let _held = call(&requests, WATCH).await;
    let client = stack.client().await;
    let deadline = Instant::now() + DEADLINE;
    let mut watch = loop {
        let one = stream::iter(["x".to_owned()]);
        match client.stream(WATCH, one, None).await {
            Ok(watch) => break watch,
            Err(status) => assert!(Instant::now() < deadline, "{status}"),
        }
    };
    // This client has read everything: its slot cannot be taken.
    assert_eq!(next(&mut watch).await.unwrap().unwrap(), "x");
    tokio::time::sleep(Duration::from_millis(200)).await;
    let one = stream::iter(["x".to_owned()]);
    assert!(client.stream(WATCH, one, None).await.is_err());
    stack.drained().await;
}

#[tokio::test]
async fn a_channel_reconnects_when_its_idle_and_old_connections_are_closed() {
    let stack = serve(|c| {
        c.transport.idle_timeout_ms = 30;
        c.connection.age_max_ms = 150;
    })
    .await;
    let client = stack.client().await;
    let end = Instant::now() + Duration::from_secs(2);
    let mut pause = 0;
    while Instant::now() < end {
        let deadline = Instant::now() + DEADLINE;
        let answer = loop {
            match client.say("hello").await {
                // The connection was closed before the client sent the call: it may retry.
                Err(status) if status.code() == Code::Cancelled => {
                    assert!(Instant::now() < deadline, "{status}");
                }
                answer => break answer,
            }
        };
        assert_eq!(answer.unwrap(), "hello");
        pause = (pause + 7) % 60;
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
    stack.drained().await;
}

#[tokio::test]
async fn connections_per_address_are_limited() {
    let stack = serve(|c| c.connection.per_address_max = 1).await;
    let first = stack.client().await;
    assert_eq!(first.say("hello").await.unwrap(), "hello");
    let second = crate::stack::Client(stack.endpoint.connect_lazy());
    assert!(second.say("hello").await.is_err());
    assert_eq!(first.say("again").await.unwrap(), "again");
    stack.drained().await;
}
