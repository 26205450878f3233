//! What is told of each try of a request.

use std::sync::{Arc, Mutex};

use models::{
    EXCHANGE_BODY_BYTES_MAX, Exchange, Listener, ModelRequest, ModelServers, ServerKind, Wanted,
};

use crate::asking::{NAME, all, request, servers};
use crate::fake::{FakeServer, Script};

const EVENTS: &[u8] = b"data: {\"id\":\"r\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"sk-\"}}]}\n\n\
data: {\"id\":\"r\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"live\"}}]}\n\n\
data: {\"id\":\"r\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\
\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n";

/// Asks to the end; what was heard.
async fn heard(servers: &ModelServers, server: &str, wanted: Wanted, body: &[u8]) -> Vec<Exchange> {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let listening = Arc::clone(&heard);
    let listener = Listener::new(wanted, move |exchange| {
        listening.lock().unwrap().push(exchange);
    });
    let request = ModelRequest {
        body: body.to_vec(),
        listener: Some(listener),
        ..request()
    };
    if let Ok(pieces) = servers.stream(server, request).await {
        all(pieces).await;
    }
    let heard = heard.lock().unwrap();
    heard.clone()
}

fn facts(exchange: &Exchange) -> (u32, Option<u16>, &'static str) {
    (exchange.attempt, exchange.http_status, exchange.outcome)
}

#[tokio::test]
async fn a_reply_is_told_whole_with_its_facts() {
    let server = FakeServer::start([Script::stream([EVENTS])]).await;
    let servers = servers(ServerKind::OpenAiChat, &server, |_| {});
    let told = heard(&servers, NAME, Wanted::Bodies, &request().body).await;
    assert_eq!(
        told.iter().map(facts).collect::<Vec<_>>(),
        [(1, Some(200), "finished")]
    );
    let told = &told[0];
    assert_eq!(told.reply.as_deref(), Some(r#"{"text":"sk-live"}"#));
    let sent = server.received()[0].body.clone();
    assert_eq!(told.request.as_deref(), Some(sent.as_bytes()));
    assert_eq!(
        (told.request_bytes, told.reply_bytes),
        (sent.len(), EVENTS.len())
    );
    assert_eq!(
        told.usage
            .map(|usage| (usage.input_tokens, usage.output_tokens)),
        Some((7, 2))
    );
    assert_eq!(
        told.finish_reason.as_ref().map(domain::Label::as_str),
        Some("stop")
    );
    assert!(told.first_piece.is_some_and(|first| first <= told.took));
    assert!(!format!("{told:?}").contains("live"));
}

#[tokio::test]
async fn without_bodies_nothing_that_was_said_is_told() {
    let server = FakeServer::start([Script::stream([EVENTS]), Script::status(400, "", "no")]).await;
    let servers = servers(ServerKind::OpenAiChat, &server, |_| {});
    for (status, outcome) in [(200, "finished"), (400, "model_refused")] {
        let told = heard(&servers, NAME, Wanted::Facts, &request().body).await;
        assert_eq!(
            told.iter().map(facts).collect::<Vec<_>>(),
            [(1, Some(status), outcome)]
        );
        assert_eq!((&told[0].request, &told[0].reply), (&None, &None));
        assert!(told[0].reply_bytes > 0);
    }
}

#[tokio::test]
async fn each_try_is_told() {
    let scripts = [
        Script::status(503, "retry-after: 0\r\n", "busy"),
        Script::nothing().then_hang_up(),
        Script::status(401, "", "who are you"),
    ];
    let server = FakeServer::start(scripts).await;
    let servers = servers(ServerKind::OpenAiChat, &server, |config| {
        config.retries_max = 5;
    });
    let told = heard(&servers, NAME, Wanted::Bodies, &request().body).await;
    let expected = [
        (1, Some(503), "model_unavailable"),
        (2, None, "model_unavailable"),
        (3, Some(401), "model_refused"),
    ];
    assert_eq!(told.iter().map(facts).collect::<Vec<_>>(), expected);
    let replies = told.iter().map(|told| told.reply.as_deref());
    assert_eq!(
        replies.collect::<Vec<_>>(),
        [None, None, Some("who are you")]
    );
    assert!(told.iter().all(|told| told.first_piece.is_none()));
}

#[tokio::test]
async fn a_failure_within_a_reply_is_told_in_the_servers_own_words() {
    for (failure, expected) in [
        (
            r#"{"type":"server_error","message":"it broke"}"#,
            "server_error: it broke",
        ),
        (r#"{"type":"server_error","message":""}"#, "server_error"),
    ] {
        let event = format!("data: {{\"error\":{failure}}}\n\n");
        let server = FakeServer::start([Script::stream([event.as_bytes()])]).await;
        let servers = servers(ServerKind::OpenAiChat, &server, |_| {});
        let told = heard(&servers, NAME, Wanted::Bodies, &request().body).await;
        assert_eq!(facts(&told[0]), (1, Some(200), "model_failed"));
        let reply = format!(r#"{{"error":"{expected}"}}"#);
        assert_eq!(told[0].reply.as_deref(), Some(reply.as_str()));
    }
}

#[tokio::test]
async fn a_reply_that_nobody_wants_to_its_end_is_dropped() {
    let server = FakeServer::start([Script::begun([EVENTS]).then_go_silent()]).await;
    let servers = servers(ServerKind::OpenAiChat, &server, |_| {});
    let heard = Arc::new(Mutex::new(Vec::new()));
    let listening = Arc::clone(&heard);
    let request = ModelRequest {
        listener: Some(Listener::new(Wanted::Bodies, move |exchange| {
            listening.lock().unwrap().push(exchange);
        })),
        ..request()
    };
    let mut pieces = servers.stream(NAME, request).await.unwrap();
    pieces.next().await.unwrap().unwrap();
    drop(pieces);
    let heard = heard.lock().unwrap();
    assert_eq!(facts(&heard[0]), (1, Some(200), "dropped"));
    assert_eq!(heard[0].reply.as_deref(), Some(r#"{"text":"sk-"}"#));
}

#[tokio::test]
async fn a_body_that_is_too_large_is_not_told() {
    let server = FakeServer::start([Script::status(400, "", "no")]).await;
    let servers = servers(ServerKind::OpenAiChat, &server, |_| {});
    let check = async |bytes: usize, is_told: bool| {
        let around = r#"{"messages":[],"x":""}"#.len();
        let body = format!(r#"{{"messages":[],"x":"{}"}}"#, "y".repeat(bytes - around));
        let told = heard(&servers, NAME, Wanted::Bodies, body.as_bytes()).await;
        assert_eq!(told[0].request.is_some(), is_told, "{bytes}");
        told[0].request_bytes - body.len()
    };
    // What the client completes a body with counts too.
    let added = check(1_000, true).await;
    check(EXCHANGE_BODY_BYTES_MAX - added, true).await;
    check(EXCHANGE_BODY_BYTES_MAX - added + 1, false).await;
}

#[tokio::test]
async fn the_built_in_model_is_told_too() {
    let server = FakeServer::start([]).await;
    let servers = servers(ServerKind::OpenAiChat, &server, |_| {});
    let body = formats::canonical::render(&context::Transcript::default()).body;
    let told = heard(&servers, models::ECHO, Wanted::Bodies, &body).await;
    assert_eq!(
        told.iter().map(facts).collect::<Vec<_>>(),
        [(1, None, "finished")]
    );
    assert_eq!(told[0].reply.as_deref(), Some(r#"{"text":"echo: "}"#));
}
