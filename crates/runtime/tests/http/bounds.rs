//! Every limit, at its value and one above.

use std::time::Duration;

use runtime::grpc::Drained;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::raw::{check, exchange, read_to_end};
use crate::stack::{DEADLINE, LARGE_BYTES, check_problem, client, h2_client, serve};

#[tokio::test]
async fn headers_are_accepted_up_to_their_limit() {
    let stack = serve(|c| c.header_bytes_max = 1024).await;
    // The method, the path, and two headers.
    let fixed = "GET".len() + "/hello".len() + "connectionclose".len() + 4 + "x-pad".len() + 4;
    for (bytes, status, code) in [(1024, 200, "hello"), (1025, 431, "HEADERS_TOO_LARGE")] {
        let pad = "x".repeat(bytes - fixed);
        let request = format!("GET /hello HTTP/1.1\r\nconnection: close\r\nx-pad: {pad}\r\n\r\n");
        check(&exchange(&stack, request.as_bytes()).await, status, code);
    }
    // The transport does not read these headers; it may close the connection before the client reads the response.
    let request = format!("GET /hello HTTP/1.1\r\nx-pad: {}\r\n\r\n", "x".repeat(64 * 1024));
    let answer = exchange(&stack, request.as_bytes()).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

#[tokio::test]
async fn headers_of_http2_have_the_same_limit() {
    let stack = serve(|c| c.header_bytes_max = 1024).await;
    let request = h2_client().get(stack.url("/hello"));
    let rejected = stack.send(request.header("x-pad", "x".repeat(1024))).await;
    check_problem(rejected, 431, "HEADERS_TOO_LARGE").await;
}

#[tokio::test]
async fn bodies_are_accepted_up_to_their_limit() {
    let stack = serve(|c| c.body_bytes_max = 1024).await;
    for (path, bytes, expected) in [
        ("/items", 1024, None),
        ("/items", 1025, Some((413, "BODY_TOO_LARGE"))),
        ("/large", LARGE_BYTES, None),
        ("/large", LARGE_BYTES + 1, Some((413, "BODY_TOO_LARGE"))),
    ] {
        for chunked in [false, true] {
            let body = format!(r#"{{"name":"{}"}}"#, "x".repeat(bytes - r#"{"name":""}"#.len()));
            let body = if chunked {
                let whole = futures::stream::iter([Ok::<_, std::io::Error>(body)]);
                reqwest::Body::wrap_stream(whole)
            } else {
                body.into()
            };
            let request = client().post(stack.url(path)).body(body).header("content-type", "application/json");
            let answer = stack.send(request).await;
            match expected {
                None => assert_eq!(answer.status(), 200, "{path} {bytes}"),
                Some((status, code)) => check_problem(answer, status, code).await,
            }
        }
    }
}

#[tokio::test]
async fn requests_above_the_limit_are_rejected_until_slots_are_released() {
    let stack = serve(|c| {
        c.requests_max = 2;
        c.retry_after_ms = 1_500;
    })
    .await;
    let held = [stack.getting("/hold"), stack.getting("/hold")];
    stack.held(2).await;
    let rejected = stack.get("/hello").await;
    assert_eq!(rejected.headers()["retry-after"], "2");
    check_problem(rejected, 503, "OVERLOADED").await;
    stack.gate.add_permits(2);
    for held in held {
        let answer = held.await.unwrap().unwrap();
        assert_eq!(answer.text().await.unwrap(), "held");
    }
    stack.eventually_ok("/hello").await;
}

#[tokio::test]
async fn streams_have_their_own_slots() {
    let stack = serve(|c| {
        c.streams_max = 1;
        c.requests_max = 1;
    })
    .await;
    let mut open = stack.get("/stream").await;
    assert_eq!(open.chunk().await.unwrap().unwrap(), "first");
    assert_eq!(stack.get("/hello").await.status(), 200);
    check_problem(stack.get("/stream").await, 503, "OVERLOADED").await;
    drop(open);
    stack.eventually_ok("/stream").await;
}

#[tokio::test]
async fn connections_above_the_limit_wait() {
    let stack = serve(|c| c.connections_max = 1).await;
    let first = TcpStream::connect(stack.addr).await.unwrap();
    let mut second = TcpStream::connect(stack.addr).await.unwrap();
    let request = b"GET /hello HTTP/1.1\r\nconnection: close\r\n\r\n";
    second.write_all(request).await.unwrap();
    let mut byte = [0];
    let early = timeout(Duration::from_millis(100), second.peek(&mut byte)).await;
    assert!(early.is_err(), "answered above the limit");
    drop(first);
    check(&read_to_end(&mut second).await, 200, "hello");
}

/// The paused clock advances only when all tasks are idle: a busy machine reaches no timeout early.
#[tokio::test(start_paused = true)]
async fn slow_or_missing_headers_end_the_connection() {
    let stack = serve(|c| c.header_timeout_ms = 200).await;
    for sent in ["", "P", "PRI * HTTP/2.0\r\n", "GET /hello HTTP/1.1\r\nx: "] {
        let started = Instant::now();
        let mut socket = TcpStream::connect(stack.addr).await.unwrap();
        socket.write_all(sent.as_bytes()).await.unwrap();
        let answer = read_to_end(&mut socket).await;
        assert!(!answer.contains("200 OK"), "{sent:?} gave {answer}");
        let elapsed = started.elapsed();
        assert!(elapsed >= Duration::from_millis(150), "{sent:?}: {elapsed:?}");
        assert!(elapsed < Duration::from_secs(3), "{sent:?}: {elapsed:?}");
    }
}

#[tokio::test]
async fn a_request_ends_at_its_timeout() {
    let stack = serve(|c| c.request_timeout_ms = 200).await;
    check_problem(stack.get("/hold").await, 504, "DEADLINE_EXCEEDED").await;
    // The body of the request does not end, then the body of the response.
    let slow = "POST /items HTTP/1.1\r\nconnection: close\r\ncontent-type: application/json\r\n\
                content-length: 9\r\n\r\n{";
    let late = exchange(&stack, slow.as_bytes()).await;
    check(&late, 504, "DEADLINE_EXCEEDED");
    let mut endless = stack.get("/endless").await;
    assert_eq!(endless.chunk().await.unwrap().unwrap(), "first");
    assert!(timeout(DEADLINE, endless.chunk()).await.unwrap().is_err());
    // Streams have no timeout.
    let mut open = stack.get("/stream").await;
    assert_eq!(open.chunk().await.unwrap().unwrap(), "first");
    tokio::select! {
        biased;
        next = open.chunk() => panic!("{next:?}"),
        later = stack.get("/hold") => check_problem(later, 504, "DEADLINE_EXCEEDED").await,
    }
    assert_eq!(stack.drained().await, Drained::Clean);
}

#[tokio::test]
async fn many_requests_share_one_http2_connection() {
    let stack = serve(|_| {}).await;
    let client = h2_client();
    let all = (0..64).map(|_| stack.send(client.get(stack.url("/hello"))));
    for answer in futures::future::join_all(all).await {
        assert_eq!(answer.version(), reqwest::Version::HTTP_2);
        assert_eq!(answer.text().await.unwrap(), "hello");
    }
}
