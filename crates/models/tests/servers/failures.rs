//! Errors, and which of them are retried.

use models::{ModelError, ModelServerConfig, ServerKind};

use crate::fake::{FakeServer, Script};
use crate::requests::{KINDS, all, ask, ending, servers};
use crate::streams;

const CHAT: ServerKind = ServerKind::OpenAiChat;

fn whole(kind: ServerKind) -> Script {
    Script::stream([streams::whole(kind).as_bytes()])
}

fn status(status: u16) -> Script {
    Script::status(status, "retry-after: 0\r\n", "{}")
}

/// Sends a request. `expected`: the number of deltas, the outcome, and the number of requests that the server received.
async fn check(scripts: &[Script], expected: (usize, &str, usize)) {
    check_with(CHAT, scripts, |_| (), expected).await;
}

async fn check_with(
    kind: ServerKind,
    scripts: &[Script],
    change: impl FnOnce(&mut ModelServerConfig),
    expected: (usize, &str, usize),
) {
    let server = FakeServer::start(scripts.iter().cloned()).await;
    let servers = servers(kind, &server, change);
    let (deltas, end) = ending(&servers).await;
    let received = server.received().len();
    assert_eq!((deltas, end, received), expected, "{kind:?}, {scripts:?}");
}

#[tokio::test]
async fn temporary_errors_are_retried_before_the_first_piece() {
    for code in [408, 429, 500, 502, 503, 529] {
        check(&[status(code), whole(CHAT)], (6, "finished", 2)).await;
    }
    let refused = Script::nothing().then_hang_up();
    check(&[refused.clone(), whole(CHAT)], (6, "finished", 2)).await;
    check(&[refused], (0, "model_unavailable", 3)).await;
    check(&[status(500)], (0, "model_unavailable", 3)).await;
    check(&[status(429)], (0, "model_overloaded", 3)).await;
    let none = |config: &mut ModelServerConfig| config.retries_max = 0;
    check_with(CHAT, &[status(500)], none, (0, "model_unavailable", 1)).await;
}

#[tokio::test]
async fn an_overload_in_the_stream_is_retried() {
    let overloaded = r#"data: {"type":"error","error":{"type":"overloaded_error","message":"m"}}"#;
    let overloaded = Script::stream([overloaded.as_bytes(), b"\n\n"]);
    let kind = ServerKind::Anthropic;
    check_with(kind, &[overloaded, whole(kind)], |_| (), (6, "finished", 2)).await;
}

#[tokio::test]
async fn permanent_errors_are_not_retried() {
    for code in [302, 400, 401, 404, 413, 422] {
        check(&[status(code)], (0, "model_refused", 1)).await;
    }
    for kind in KINDS {
        let stream = |text: &str| Script::stream([text.as_bytes()]);
        let failed = stream(streams::failure(kind));
        check_with(kind, &[failed], |_| (), (0, "model_failed", 1)).await;
        let broken = (0, "model_reply_broken", 1);
        check_with(kind, &[stream("")], |_| (), broken).await;
        check_with(kind, &[stream("data: {\"a\"\n\n")], |_| (), broken).await;
        let cut = Script::begun([]).then_hang_up();
        check_with(kind, &[cut], |_| (), broken).await;
    }
}

#[tokio::test]
async fn nothing_is_retried_after_the_first_piece() {
    for kind in KINDS {
        let first = streams::first(kind).as_bytes();
        let failed = Script::stream([first, streams::failure(kind).as_bytes()]);
        check_with(kind, &[failed], |_| (), (1, "model_failed", 1)).await;
        let broken = (1, "model_reply_broken", 1);
        check_with(kind, &[Script::stream([first])], |_| (), broken).await;
        let cut = Script::begun([first]).then_hang_up();
        check_with(kind, &[cut], |_| (), broken).await;
        let malformed = Script::stream([first, b"data: {\"a\"\n\n"]);
        check_with(kind, &[malformed], |_| (), broken).await;
    }
}

#[tokio::test]
async fn a_complete_reply_needs_no_end_of_its_stream() {
    for kind in KINDS {
        let deltas = if kind == ServerKind::Ollama { 5 } else { 6 };
        let begun = Script::begun([streams::whole(kind).as_bytes()]);
        let finished = (deltas, "finished", 1);
        check_with(kind, &[begun.clone().then_hang_up()], |_| (), finished).await;
        let soon = |config: &mut ModelServerConfig| config.idle_timeout_ms = 300;
        check_with(kind, &[begun.then_go_silent()], soon, finished).await;
    }
}

#[tokio::test]
async fn a_long_wait_is_left_to_the_caller() {
    for (code, name) in [(429, "model_overloaded"), (503, "model_unavailable")] {
        let later = Script::status(code, "retry-after: 11\r\n", "");
        let server = FakeServer::start([later]).await;
        let error = ask(&servers(CHAT, &server, |_| ())).await.unwrap_err();
        assert_eq!((error.code(), error.retry_after_ms()), (name, Some(11_000)));
        assert_eq!(server.received().len(), 1);
    }
}

#[tokio::test]
async fn rejections_show_the_type_and_hide_the_message() {
    let error = r#"{"type":"error","error":{"type":"invalid_request_error","message":"secret"}}"#;
    for (kind, body, expected) in [
        (CHAT, error, "invalid_request_error"),
        (ServerKind::OpenAiResponses, error, "invalid_request_error"),
        (ServerKind::Anthropic, error, "invalid_request_error"),
        (ServerKind::Ollama, r#"{"error":"secret"}"#, "error"),
        (CHAT, "<html>", "http_400"),
    ] {
        let server = FakeServer::start([Script::status(400, "", body)]).await;
        let error = ask(&servers(kind, &server, |_| ())).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains("secret"));
        let ModelError::Refused { status, error_type, message } = error else {
            panic!("{error:?}");
        };
        assert_eq!((status, error_type.as_str()), (400, expected), "{kind:?}");
        let text = if expected == "http_400" { "" } else { "secret" };
        assert_eq!(message.expose(), text);
    }
}

#[tokio::test]
async fn a_server_that_does_not_listen_is_unavailable() {
    let server = FakeServer::start([]).await;
    let servers = servers(CHAT, &server, |config| {
        config.base_url = Some("http://127.0.0.1:1/v1".to_owned());
    });
    assert_eq!(ending(&servers).await, (0, "model_unavailable"));
}

#[tokio::test]
async fn concurrent_requests_have_a_bound() {
    let first = Script::begun([streams::first(CHAT).as_bytes()]).then_go_silent();
    let server = FakeServer::start([first.clone(), first, whole(CHAT)]).await;
    let servers = servers(CHAT, &server, |config| {
        config.requests_max = 2;
        config.wait_timeout_ms = 0;
    });
    let one = ask(&servers).await.unwrap();
    let _other = ask(&servers).await.unwrap();
    let refused = ask(&servers.clone()).await.unwrap_err();
    assert_eq!(refused.code(), "model_overloaded");
    assert_eq!(server.received().len(), 2);
    drop(one);
    let (_, error) = all(ask(&servers).await.unwrap()).await;
    assert_eq!(error, None);
}
