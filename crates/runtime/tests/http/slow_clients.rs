//! Clients that read no response or send no body: others can take their slots, and their time is limited.

use h2::Reason;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::raw::{check, exchange, read_to_end};
use crate::stack::{DEADLINE, NEVER_MS, check_problem, serve};
use crate::stalling::Stalling;

#[tokio::test]
async fn unread_responses_hold_all_slots_only_without_limits() {
    for (path, preempt_after_ms, write_timeout_ms, freed) in [
        ("/hello", NEVER_MS, NEVER_MS, false),
        ("/hello", 100, NEVER_MS, true),
        ("/hello", NEVER_MS, 200, true),
        ("/flood", NEVER_MS, NEVER_MS, false),
        ("/flood", 100, NEVER_MS, true),
        ("/flood", NEVER_MS, 200, true),
    ] {
        let stack = serve(|c| {
            c.requests_max = 4;
            c.streams_max = 4;
            c.transport.preempt_after_ms = preempt_after_ms;
            c.transport.write_timeout_ms = write_timeout_ms;
        })
        .await;
        let mut attacker = Stalling::connect(stack.addr, 0).await;
        for _ in 0..4 {
            assert_eq!(attacker.hold(path).await, 200);
        }
        if freed {
            stack.eventually_ok(path).await;
            assert!(attacker.is_open());
            continue;
        }
        for _ in 0..10 {
            check_problem(stack.get(path).await, 503, "OVERLOADED").await;
        }
    }
}

#[tokio::test]
async fn a_stream_without_window_is_reset_and_the_connection_stays_open() {
    let stack = serve(|c| c.transport.write_timeout_ms = 200).await;
    let mut client = Stalling::connect(stack.addr, 0).await;
    for path in ["/hello", "/flood"] {
        let started = Instant::now();
        assert_eq!(client.hold(path).await, 200);
        assert_eq!(client.reset().await, Reason::CANCEL, "{path}");
        assert!(started.elapsed().as_millis() >= 200, "{path}");
        assert!(client.is_open());
    }
}

#[tokio::test]
async fn the_last_bytes_of_a_response_have_the_same_timeout() {
    let stack = serve(|c| c.transport.write_timeout_ms = 200).await;
    let mut client = Stalling::connect(stack.addr, 1).await;
    assert_eq!(client.hold("/hello").await, 200);
    // A response in the transport cannot be reset without its connection.
    client.closed().await;
}

#[tokio::test]
async fn a_socket_that_is_not_read_is_closed() {
    let stack = serve(|c| c.transport.write_timeout_ms = 300).await;
    let mut socket = TcpStream::connect(stack.addr).await.unwrap();
    let request = b"GET /flood HTTP/1.1\r\n\r\n";
    socket.write_all(request).await.unwrap();
    let closed = async {
        // The client reads nothing: it sees the reset when it writes.
        while socket.write_all(b"x").await.is_ok() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(DEADLINE, closed).await.unwrap();
}

/// The paused clock advances only when all tasks are idle: a busy machine reaches no timeout early.
#[tokio::test(start_paused = true)]
async fn a_body_must_make_progress() {
    let stack = serve(|c| {
        c.transport.body_progress_timeout_ms = 1_500;
        c.transport.body_progress_bytes_min = 4;
    })
    .await;
    let head = "POST /items HTTP/1.1\r\nconnection: close\r\ncontent-type: application/json\r\n\
                content-length: 12\r\n\r\n";
    let slow = exchange(&stack, format!("{head}{{").as_bytes()).await;
    check(&slow, 408, "BODY_TOO_SLOW");
    // The whole body is slower than the interval, but each part is faster.
    let mut socket = TcpStream::connect(stack.addr).await.unwrap();
    socket.write_all(head.as_bytes()).await.unwrap();
    for part in [r#"{"na"#, r#"me":"#, r#""x"}"#] {
        tokio::time::sleep(std::time::Duration::from_millis(600)).await;
        socket.write_all(part.as_bytes()).await.unwrap();
    }
    check(&read_to_end(&mut socket).await, 200, "");
}

#[tokio::test]
async fn another_request_takes_the_slot_of_a_request_that_waits_for_its_body() {
    let stack = serve(|c| {
        c.requests_max = 1;
        c.transport.preempt_after_ms = 100;
    })
    .await;
    let mut slow = TcpStream::connect(stack.addr).await.unwrap();
    let head = "POST /items HTTP/1.1\r\nconnection: close\r\ncontent-type: application/json\r\n\
                content-length: 9\r\n\r\n{";
    slow.write_all(head.as_bytes()).await.unwrap();
    let deadline = Instant::now() + DEADLINE;
    // First, the slow request has the slot.
    while stack.get("/hello").await.status() == 200 {
        assert!(Instant::now() < deadline, "the slot is never taken");
    }
    stack.eventually_ok("/hello").await;
    check(&read_to_end(&mut slow).await, 503, "OVERLOADED");
}

#[tokio::test]
async fn saturated_slots_are_in_readiness_and_metrics() {
    let stack = serve(|c| {
        c.requests_max = 2;
        c.transport.saturated_after_ms = 100;
    })
    .await;
    let held = [stack.getting("/hold"), stack.getting("/hold")];
    stack.held(2).await;
    let mut health = stack.health.watch();
    let full = health.wait_for(|now| now.saturated.contains("http.requests"));
    let snapshot = tokio::time::timeout(DEADLINE, full).await.unwrap().unwrap().clone();
    assert!(!snapshot.is_ready());
    let text = runtime::metrics::install().unwrap().render();
    for name in [
        r#"server_slots_max{server="http",slots="requests"}"#,
        r#"server_slots_used{server="http",slots="requests"}"#,
        r#"server_connections_open{server="http"}"#,
        r#"server_connections_max{server="http"}"#,
    ] {
        assert!(text.contains(name), "no {name} in {text}");
    }
    stack.gate.add_permits(2);
    for held in held {
        assert_eq!(held.await.unwrap().unwrap().status(), 200);
    }
    let free = health.wait_for(runtime::health::Snapshot::is_ready);
    drop(tokio::time::timeout(DEADLINE, free).await.unwrap().unwrap());
}

#[tokio::test]
async fn what_a_layer_rejects_takes_no_slot() {
    let stack = serve(|c| {
        c.requests_max = 1;
        c.transport.preempt_after_ms = NEVER_MS;
        c.transport.write_timeout_ms = NEVER_MS;
    })
    .await;
    let mut attacker = Stalling::connect(stack.addr, 0).await;
    for _ in 0..4 {
        assert_eq!(attacker.hold("/hello?reject").await, 429);
        assert_eq!(attacker.hold("/nowhere").await, 404);
    }
    assert_eq!(stack.get("/hello").await.status(), 200);
    // With all slots in use, the layer still answers.
    let held = stack.getting("/hold");
    stack.held(1).await;
    let rejected = stack.get("/hello?reject").await;
    check_problem(rejected, 429, "RATE_LIMITED").await;
    stack.gate.add_permits(1);
    assert_eq!(held.await.unwrap().unwrap().status(), 200);
}
