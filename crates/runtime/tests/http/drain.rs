//! The drain: requests in flight finish, streams get a signal, new requests are rejected, and the rest is cut.

use std::time::Duration;

use runtime::grpc::Drained;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::stack::{DEADLINE, Stack, client, h2_client, serve};

/// Shuts the server down, and waits until the drain has begun and the port is closed.
async fn begin(stack: &Stack) {
    stack.shutdown.cancel();
    let mut health = stack.health.watch();
    let draining = health.wait_for(|now| now.draining);
    timeout(DEADLINE, draining).await.unwrap().unwrap();
    let deadline = Instant::now() + DEADLINE;
    while TcpStream::connect(stack.addr).await.is_ok() {
        assert!(Instant::now() < deadline, "the port is never closed");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_request_in_flight_finishes_and_the_port_is_closed() {
    for client in [client(), h2_client()] {
        let stack = serve(|_| {}).await;
        let held = tokio::spawn(client.get(stack.url("/hold")).send());
        stack.held(1).await;
        begin(&stack).await;
        assert!(!held.is_finished());
        stack.gate.add_permits(1);
        let answer = held.await.unwrap().unwrap();
        assert_eq!(answer.text().await.unwrap(), "held");
        assert_eq!(stack.drained().await, Drained::Clean);
    }
}

#[tokio::test]
async fn a_request_whose_headers_arrive_during_the_drain_is_rejected() {
    let stack = serve(|_| {}).await;
    let mut socket = TcpStream::connect(stack.addr).await.unwrap();
    socket.write_all(b"GET /hello HTTP/1.1\r\n").await.unwrap();
    assert_eq!(stack.get("/hello").await.status(), 200);
    begin(&stack).await;
    socket.write_all(b"\r\n").await.unwrap();
    let mut answer = String::new();
    timeout(DEADLINE, socket.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(answer.is_empty() || answer.contains("DRAINING"), "{answer}");
    assert_eq!(stack.drained().await, Drained::Clean);
}

#[tokio::test]
async fn a_stream_gets_the_signal_and_ends_by_itself() {
    let stack = serve(|_| {}).await;
    let mut open = stack.get("/stream").await;
    assert_eq!(open.chunk().await.unwrap().unwrap(), "first");
    begin(&stack).await;
    let last = timeout(DEADLINE, open.chunk()).await.unwrap();
    assert_eq!(last.unwrap().unwrap(), "last");
    assert!(open.chunk().await.unwrap().is_none());
    assert_eq!(stack.drained().await, Drained::Clean);
}

#[tokio::test]
async fn open_requests_are_cut_at_the_end_of_the_drain() {
    let cases = [(0, client()), (200, client()), (200, h2_client())];
    for (drain_ms, client) in cases {
        let stack = serve(|c| c.drain_ms = drain_ms).await;
        let held = tokio::spawn(client.get(stack.url("/hold")).send());
        stack.held(1).await;
        let started = Instant::now();
        assert_eq!(stack.drained().await, Drained::Cut);
        let elapsed = started.elapsed();
        assert!(elapsed >= Duration::from_millis(drain_ms), "{elapsed:?}");
        assert!(timeout(DEADLINE, held).await.unwrap().unwrap().is_err());
    }
}

#[tokio::test]
async fn an_idle_connection_does_not_delay_the_drain() {
    let stack = serve(|_| {}).await;
    let _silent = TcpStream::connect(stack.addr).await.unwrap();
    assert_eq!(stack.get("/hello").await.status(), 200);
    assert_eq!(stack.drained().await, Drained::Clean);
}
