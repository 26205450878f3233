//! Callers that send their requests slowly: they are limited in time, and other calls can take their slots.

use std::time::Duration;

use bytes::Bytes;
use futures::future::poll_fn;
use h2::SendStream;
use h2::client::{ResponseFuture, SendRequest, handshake};
use http::{HeaderMap, Request};
use tokio::time::{Instant, sleep, timeout};
use tonic::{Code, Status};

use crate::echo::{CHAT, SAY, WATCH};
use crate::stack::{DEADLINE, Stack, serve};

/// A gRPC message with the text `hello`.
const MESSAGE: &[u8] = b"\x00\x00\x00\x00\x07\x0a\x05hello";

/// The timeout of requests that make no progress.
const TIMEOUT_MS: u64 = 300;
const TIMEOUT: Duration = Duration::from_millis(TIMEOUT_MS);
/// The timeout of a request whose parts must arrive in time, also on a busy machine.
const LONG_TIMEOUT_MS: u64 = 1_500;

async fn serve_slow(timeout_ms: u64) -> Stack {
    serve(|c| {
        c.transport.body_progress_timeout_ms = timeout_ms;
        c.transport.body_progress_bytes_min = 4;
        c.transport.preempt_after_ms = 600_000;
    })
    .await
}

/// A connection for calls whose bytes the test writes.
async fn connect(stack: &Stack) -> SendRequest<Bytes> {
    let (requests, connection) = handshake(stack.connect().await).await.unwrap();
    tokio::spawn(connection);
    requests
}

async fn open(requests: &SendRequest<Bytes>, path: &str) -> (ResponseFuture, SendStream<Bytes>) {
    let mut requests = requests.clone().ready().await.unwrap();
    let request =
        Request::post(format!("http://x{path}")).header("content-type", "application/grpc").header("te", "trailers");
    requests.send_request(request.body(()).unwrap(), false).unwrap()
}

fn send(body: &mut SendStream<Bytes>, bytes: &[u8]) {
    body.send_data(Bytes::copy_from_slice(bytes), false).unwrap();
}

/// The number of bytes of a response, and its status.
async fn answer(response: ResponseFuture) -> (usize, Status) {
    let answer = async {
        let response = response.await.unwrap();
        if let Some(status) = status_of(response.headers()) {
            return (0, status);
        }
        let (mut body, mut bytes) = (response.into_body(), 0);
        while let Some(data) = poll_fn(|cx| body.poll_data(cx)).await {
            let data = data.unwrap();
            bytes += data.len();
            body.flow_control().release_capacity(data.len()).unwrap();
        }
        let trailers = body.trailers().await.unwrap().unwrap();
        (bytes, status_of(&trailers).unwrap())
    };
    timeout(DEADLINE, answer).await.unwrap()
}

fn status_of(headers: &HeaderMap) -> Option<Status> {
    Status::from_header_map(headers)
}

fn check_too_slow(status: &Status) {
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status}");
    let details = String::from_utf8_lossy(status.details()).into_owned();
    assert!(details.contains("BODY_TOO_SLOW"), "{details}");
}

#[tokio::test]
async fn a_request_must_make_progress() {
    let stack = serve_slow(TIMEOUT_MS).await;
    let requests = connect(&stack).await;
    for path in [SAY, WATCH] {
        for sent in [0, 1, 3, MESSAGE.len()] {
            let (response, mut body) = open(&requests, path).await;
            let started = Instant::now();
            send(&mut body, &MESSAGE[..sent]);
            let (_, status) = answer(response).await;
            check_too_slow(&status);
            assert!(started.elapsed() >= TIMEOUT, "{path} {sent}");
        }
    }
    stack.drained().await;
}

/// The whole request is slower than the timeout, but each part is faster.
#[tokio::test]
async fn a_slow_request_that_makes_progress_is_answered() {
    let stack = serve_slow(LONG_TIMEOUT_MS).await;
    let requests = connect(&stack).await;
    let (response, mut body) = open(&requests, SAY).await;
    let started = Instant::now();
    for part in MESSAGE.chunks(4) {
        sleep(Duration::from_millis(LONG_TIMEOUT_MS * 2 / 5)).await;
        send(&mut body, part);
    }
    assert!(started.elapsed() > Duration::from_millis(LONG_TIMEOUT_MS));
    body.send_data(Bytes::new(), true).unwrap();
    let (bytes, status) = answer(response).await;
    assert_eq!((bytes, status.code()), (MESSAGE.len(), Code::Ok));
    stack.drained().await;
}

#[tokio::test]
async fn a_stream_may_pause_between_messages_but_not_within_one() {
    let stack = serve_slow(TIMEOUT_MS).await;
    let requests = connect(&stack).await;
    for sent in [1, 5, MESSAGE.len() - 1] {
        let (response, mut body) = open(&requests, CHAT).await;
        for _ in 0..2 {
            sleep(TIMEOUT * 3 / 2).await;
            send(&mut body, MESSAGE);
        }
        let started = Instant::now();
        send(&mut body, &MESSAGE[..sent]);
        let (bytes, status) = answer(response).await;
        check_too_slow(&status);
        assert_eq!(bytes, 2 * MESSAGE.len());
        assert!(started.elapsed() >= TIMEOUT, "{sent}");
    }
    stack.drained().await;
}

#[tokio::test]
async fn another_call_takes_the_slot_of_a_call_that_waits_for_its_request() {
    let stack = serve(|c| {
        c.calls_max = 1;
        c.streams_max = 1;
        c.transport.preempt_after_ms = 100;
    })
    .await;
    let requests = connect(&stack).await;
    for path in [SAY, CHAT] {
        let (slow, mut body) = open(&requests, path).await;
        send(&mut body, &MESSAGE[..1]);
        // First, the slow call has the slot.
        let deadline = Instant::now() + DEADLINE;
        loop {
            let (response, mut body) = open(&requests, path).await;
            body.send_data(Bytes::from_static(MESSAGE), true).unwrap();
            let (_, status) = answer(response).await;
            if status.code() == Code::Ok {
                break;
            }
            assert_eq!(status.code(), Code::ResourceExhausted);
            assert!(Instant::now() < deadline, "{path}: no slot is freed");
        }
        let (_, status) = answer(slow).await;
        assert_eq!(status.code(), Code::ResourceExhausted, "{path}");
    }
    stack.drained().await;
}

/// A client that reads nothing does not extend its timeout by sending.
#[tokio::test]
async fn bytes_of_the_request_are_no_progress_of_the_response() {
    let stack = serve(|c| c.transport.write_timeout_ms = 300).await;
    let socket = stack.connect().await;
    let builder = h2::client::Builder::new().initial_window_size(0).clone();
    let (requests, connection) = builder.handshake::<_, Bytes>(socket).await.unwrap();
    tokio::spawn(connection);
    let (response, mut body) = open(&requests, CHAT).await;
    send(&mut body, MESSAGE);
    let _response = timeout(DEADLINE, response).await.unwrap().unwrap();
    let deadline = Instant::now() + DEADLINE;
    while body.send_data(Bytes::from_static(b"\x00"), false).is_ok() {
        assert!(Instant::now() < deadline, "the stream is never reset");
        sleep(Duration::from_millis(20)).await;
    }
    stack.drained().await;
}
