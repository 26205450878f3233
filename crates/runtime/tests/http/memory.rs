//! The bytes of bodies: all requests and responses share them, and those that wait for their client give them up.

use http::Method;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::raw;
use crate::stack::{BIG_BYTES, DEADLINE, NEVER_MS, Stack, check_problem, client, h2_client, serve};
use crate::stalling::Stalling;

const MIB: usize = 1024 * 1024;
/// Of a client that reads nothing.
const WINDOW: u32 = 0;

/// A server for two bodies of [`BIG_BYTES`].
async fn server(preempt_after_ms: u64) -> Stack {
    serve(|config| {
        config.bodies_bytes_max = 64 * MIB;
        config.body_bytes_max = BIG_BYTES;
        config.request_timeout_ms = NEVER_MS;
        config.transport.body_progress_timeout_ms = NEVER_MS;
        config.transport.write_timeout_ms = NEVER_MS;
        config.transport.preempt_after_ms = preempt_after_ms;
    })
    .await
}

/// Sends a request without the last byte of its body.
async fn send_but_one(stack: &Stack) -> TcpStream {
    let mut socket = TcpStream::connect(stack.addr).await.unwrap();
    let head = format!("POST /bytes HTTP/1.1\r\nhost: x\r\ncontent-length: {BIG_BYTES}\r\nconnection: close\r\n\r\n");
    socket.write_all(head.as_bytes()).await.unwrap();
    socket.write_all(&vec![b'x'; BIG_BYTES - 1]).await.unwrap();
    socket
}

/// Sends a quarter of a big body.
async fn send_quarter(stack: &Stack) -> reqwest::Response {
    let request = h2_client().request(Method::POST, stack.url("/bytes"));
    stack.send(request.body(vec![b'x'; BIG_BYTES / 4])).await
}

/// Sends until the status is this one: the server reads what the others have sent, or releases it.
async fn send_until(stack: &Stack, status: u16) -> reqwest::Response {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let response = send_quarter(stack).await;
        if response.status() == status {
            return response;
        }
        assert!(Instant::now() < deadline, "{}", response.status());
    }
}

#[tokio::test]
async fn requests_share_the_bytes_of_bodies() {
    let stack = server(NEVER_MS).await;
    let (mut first, second) = (send_but_one(&stack).await, send_but_one(&stack).await);
    check_problem(send_until(&stack, 503).await, 503, "OVERLOADED").await;
    // Small bodies are not counted.
    assert_eq!(stack.get("/hello").await.status(), 200);
    first.write_all(b"x").await.unwrap();
    let answer = raw::read_to_end(&mut first).await;
    assert!(answer.ends_with(&BIG_BYTES.to_string()), "{answer}");
    send_until(&stack, 200).await;
    drop(second);
}

#[tokio::test]
async fn a_request_takes_the_bytes_of_one_that_its_client_does_not_send() {
    let stack = server(0).await;
    let (mut first, second) = (send_but_one(&stack).await, send_but_one(&stack).await);
    let deadline = Instant::now() + DEADLINE;
    let mut ended = tokio::spawn(async move { raw::read_to_end(&mut first).await });
    while !ended.is_finished() {
        assert_eq!(send_quarter(&stack).await.status(), 200);
        assert!(Instant::now() < deadline, "both are still open");
    }
    raw::check(&(&mut ended).await.unwrap(), 503, "OVERLOADED");
    drop(second);
}

#[tokio::test]
async fn responses_share_the_bytes_of_bodies() {
    let stack = server(NEVER_MS).await;
    let mut slow = Stalling::connect(stack.addr, WINDOW).await;
    for _ in 0..2 {
        assert_eq!(slow.hold("/big").await, 200);
    }
    check_problem(stack.get("/big").await, 503, "OVERLOADED").await;
    assert_eq!(stack.get("/hello").await.status(), 200);
    drop(slow);
    stack.eventually_ok("/big").await;
}

#[tokio::test]
async fn a_response_takes_the_bytes_of_one_that_its_client_does_not_read() {
    let stack = server(0).await;
    let mut first = Stalling::connect(stack.addr, WINDOW).await;
    let mut second = Stalling::connect(stack.addr, WINDOW).await;
    for slow in [&mut first, &mut second] {
        assert_eq!(slow.hold("/big").await, 200);
    }
    let read = stack.send(client().get(stack.url("/big"))).await;
    assert_eq!(read.bytes().await.unwrap().len(), BIG_BYTES);
    first.reset().await;
    assert!(second.is_open());
}
