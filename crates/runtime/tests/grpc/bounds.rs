//! Limits of unary calls: slots, time, size; and the responses of an overloaded server.

use std::time::Duration;

use futures::stream::iter;
use runtime::grpc::{GrpcConfig, GrpcError, GrpcServer};
use runtime::health::Health;
use tokio::time::Instant;
use tonic::{Code, Request};
use tonic_types::StatusExt;

use crate::echo::{CHAT, Echo, MESSAGE_BYTES_MAX, SAY};
use crate::stack::{eventually, next, serve};

/// The tag and the length of the text of a large message.
const FIELD_BYTES: usize = 4;
/// The compression flag and the length before a message.
const PREFIX_BYTES: usize = 5;

#[tokio::test]
async fn an_overloaded_server_rejects_calls_with_a_retry_delay_and_recovers() {
    let stack = serve(|c| c.calls_max = 2).await;
    let client = stack.client().await;
    let held = [client.saying("hold"), client.saying("hold")];
    stack.held(2).await;

    let rejected = client.say("hello").await.unwrap_err();
    assert_eq!(rejected.code(), Code::ResourceExhausted);
    assert_eq!(rejected.message(), "the server is at its limit of 2 calls; try again later");
    let retry = rejected.get_details_retry_info().unwrap().retry_delay;
    assert_eq!(retry, Some(Duration::from_millis(100)));

    stack.echo.gate.add_permits(2);
    for call in held {
        assert_eq!(call.await.unwrap().unwrap(), "hold");
    }
    assert_eq!(client.say("hello").await.unwrap(), "hello");
    stack.drained().await;
}

#[tokio::test]
async fn a_slot_is_released_when_its_caller_leaves_or_its_handler_panics() {
    let stack = serve(|c| c.calls_max = 1).await;
    let client = stack.client().await;
    let call = client.saying("hold");
    stack.held(1).await;
    call.abort();
    eventually("the slot is released", async || client.say("hello").await.is_ok()).await;
    assert!(client.say("panic").await.is_err());
    assert_eq!(client.say("hello").await.unwrap(), "hello");
    stack.drained().await;
}

#[tokio::test]
async fn a_unary_call_ends_at_its_deadline() {
    let stack = serve(|c| c.unary_timeout_ms = 1_500).await;
    let client = stack.client().await;
    // The client also has the timeout. It ends with CANCELLED, and may be first on a busy machine.
    let codes = [Code::DeadlineExceeded, Code::Cancelled];
    let cases = [(None, 1_500, &codes[..1]), (Some("500m"), 498, &codes), (Some("5S"), 1_500, &codes[..1])];
    for (header, expected_ms, codes) in cases {
        let request = |text: &str| {
            let mut request = Request::new(text.to_owned());
            if let Some(value) = header {
                request.metadata_mut().insert("grpc-timeout", value.parse().unwrap());
            }
            request
        };
        let started = Instant::now();
        let status = client.unary(SAY, request("hold")).await.unwrap_err();
        assert!(codes.contains(&status.code()), "{header:?}: {status}");
        let elapsed = started.elapsed();
        assert!(elapsed >= Duration::from_millis(expected_ms - 1), "{header:?}: {elapsed:?}");
        let remaining: u64 = client.unary(SAY, request("remaining")).await.unwrap().parse().unwrap();
        assert!(remaining <= expected_ms, "{header:?}: {remaining}");
    }
    stack.drained().await;
}

#[tokio::test]
async fn a_message_over_the_limit_is_rejected() {
    let stack = serve(|_| {}).await;
    let client = stack.client().await;
    let text_bytes_max = MESSAGE_BYTES_MAX - FIELD_BYTES;
    for (bytes, error) in [(text_bytes_max, None), (text_bytes_max + 1, Some(Code::OutOfRange))] {
        let answer = client.say(&"x".repeat(bytes)).await;
        assert_eq!(answer.err().map(|e| e.code()), error, "{bytes} bytes");
    }
    stack.drained().await;
}

#[tokio::test]
async fn calls_share_the_bytes_of_requests() {
    let stack = serve(|c| c.bodies_bytes_max = 128 * 1024).await;
    let client = stack.client().await;
    // The first 64 KiB are not counted.
    let text_bytes_max = 3 * 64 * 1024 - 1 - PREFIX_BYTES - FIELD_BYTES;
    for _ in 0..2 {
        assert!(client.say(&"x".repeat(text_bytes_max)).await.is_ok());
        let rejected = client.say(&"x".repeat(text_bytes_max + 1)).await.unwrap_err();
        assert_eq!(rejected.code(), Code::ResourceExhausted);
        assert_eq!(rejected.message(), "the server is at its limit of the bytes of all requests; try again later");
        assert!(rejected.get_details_retry_info().is_some());
        assert_eq!(client.say("hello").await.unwrap(), "hello");
    }
    // The messages of a stream are read one by one.
    let message = "x".repeat(text_bytes_max);
    let mut answers = client.stream(CHAT, iter(vec![message.clone(); 4]), None).await.unwrap();
    for _ in 0..4 {
        assert_eq!(next(&mut answers).await.unwrap().as_deref(), Some(&*message));
    }
    drop(answers);
    stack.drained().await;
}

#[tokio::test]
async fn connections_over_the_limit_wait() {
    let stack = serve(|c| c.connections_max = 1).await;
    let first = stack.client().await;
    assert_eq!(first.say("hello").await.unwrap(), "hello");
    let second = crate::stack::Client(stack.endpoint.connect_lazy());
    let waiting = second.saying("hello");
    assert_eq!(first.say("again").await.unwrap(), "again");
    assert!(!waiting.is_finished());
    drop(first);
    assert_eq!(waiting.await.unwrap().unwrap(), "hello");
    stack.drained().await;
}

#[tokio::test]
async fn a_server_that_cannot_be_built_returns_the_reason() {
    let health = Health::new(&[]);
    let echo = Echo::new(tokio_util::sync::CancellationToken::new());
    let server = || GrpcServer::new(GrpcConfig::default(), health.clone()).service(echo.clone());
    let error = server().bind().await.unwrap_err();
    assert!(matches!(error, GrpcError::Undescribed("test.Echo")), "{error}");
    let error = server().descriptors(b"\xff").bind().await.unwrap_err();
    assert!(matches!(error, GrpcError::Descriptors(_)), "{error}");
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config = GrpcConfig::at(taken.local_addr().unwrap());
    let error = GrpcServer::new(config, health).bind().await.unwrap_err();
    assert!(matches!(error, GrpcError::Bind { .. }), "{error}");
}
