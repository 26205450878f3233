//! The exchange of each attempt of a request.

use std::sync::{Arc, Mutex};

use models::{
    EXCHANGE_BODY_BYTES_MAX, Exchange, ExchangeDetail, ExchangeListener, ModelRequest, ModelServers, ServerKind,
};

use crate::fake::{FakeServer, Script};
use crate::requests::{NAME, all, request, servers};

const EVENTS: &[u8] =
    b"data: {\"id\":\"r\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"sk-\"}}]}\n\n\
data: {\"id\":\"r\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"live\"}}]}\n\n\
data: {\"id\":\"r\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\
\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n";

type Exchanges = Arc<Mutex<Vec<Exchange>>>;

/// A listener, and the exchanges that it gets.
fn listener(detail: ExchangeDetail) -> (Option<ExchangeListener>, Exchanges) {
    let exchanges = Exchanges::default();
    let shared = Arc::clone(&exchanges);
    let listener = ExchangeListener::new(detail, move |exchange| {
        shared.lock().unwrap().push(exchange);
    });
    (Some(listener), exchanges)
}

/// Sends a request and reads its reply to the end. Returns its exchanges.
async fn exchanges(servers: &ModelServers, server: &str, detail: ExchangeDetail, body: &[u8]) -> Vec<Exchange> {
    let (listener, exchanges) = listener(detail);
    let body = body.to_vec();
    let request = ModelRequest { body, listener, ..request() };
    if let Ok(pieces) = servers.stream(server, request).await {
        all(pieces).await;
    }
    let exchanges = exchanges.lock().unwrap();
    exchanges.clone()
}

fn facts(exchange: &Exchange) -> (u32, Option<u16>, &'static str) {
    (exchange.attempt, exchange.http_status, exchange.outcome)
}

#[tokio::test]
async fn an_exchange_has_the_whole_reply_and_its_facts() {
    let server = FakeServer::start([Script::stream([EVENTS])]).await;
    let servers = servers(ServerKind::OpenAiChat, &server, |_| {});
    let exchanges = exchanges(&servers, NAME, ExchangeDetail::Bodies, &request().body).await;
    assert_eq!(exchanges.iter().map(facts).collect::<Vec<_>>(), [(1, Some(200), "finished")]);
    let exchange = &exchanges[0];
    assert_eq!(exchange.reply.as_deref(), Some(r#"{"text":"sk-live"}"#));
    let sent = server.received()[0].body.clone();
    assert_eq!(exchange.request.as_deref(), Some(sent.as_bytes()));
    assert_eq!((exchange.request_bytes, exchange.reply_bytes), (sent.len(), EVENTS.len()));
    assert_eq!(exchange.usage.map(|usage| (usage.input_tokens, usage.output_tokens)), Some((7, 2)));
    assert_eq!(exchange.finish_reason.as_ref().map(domain::Label::as_str), Some("stop"));
    assert!(exchange.first_piece.is_some_and(|first| first <= exchange.took));
    assert!(!format!("{exchange:?}").contains("live"));
}

#[tokio::test]
async fn without_bodies_an_exchange_has_no_contents() {
    let server = FakeServer::start([Script::stream([EVENTS]), Script::status(400, "", "no")]).await;
    let servers = servers(ServerKind::OpenAiChat, &server, |_| {});
    for (status, outcome) in [(200, "finished"), (400, "model_refused")] {
        let exchanges = exchanges(&servers, NAME, ExchangeDetail::Facts, &request().body).await;
        assert_eq!(exchanges.iter().map(facts).collect::<Vec<_>>(), [(1, Some(status), outcome)]);
        assert_eq!((&exchanges[0].request, &exchanges[0].reply), (&None, &None));
        assert!(exchanges[0].reply_bytes > 0);
    }
}

#[tokio::test]
async fn each_attempt_is_an_exchange() {
    let scripts = [
        Script::status(503, "retry-after: 0\r\n", "busy"),
        Script::nothing().then_hang_up(),
        Script::status(401, "", "who are you"),
    ];
    let server = FakeServer::start(scripts).await;
    let servers = servers(ServerKind::OpenAiChat, &server, |config| {
        config.retries_max = 5;
    });
    let exchanges = exchanges(&servers, NAME, ExchangeDetail::Bodies, &request().body).await;
    let expected =
        [(1, Some(503), "model_unavailable"), (2, None, "model_unavailable"), (3, Some(401), "model_refused")];
    assert_eq!(exchanges.iter().map(facts).collect::<Vec<_>>(), expected);
    let replies = exchanges.iter().map(|exchange| exchange.reply.as_deref());
    assert_eq!(replies.collect::<Vec<_>>(), [None, None, Some("who are you")]);
    assert!(exchanges.iter().all(|exchange| exchange.first_piece.is_none()));
}

#[tokio::test]
async fn an_error_within_a_reply_is_reported_in_the_words_of_the_server() {
    for (failure, expected) in [
        (r#"{"type":"server_error","message":"it broke"}"#, "server_error: it broke"),
        (r#"{"type":"server_error","message":""}"#, "server_error"),
    ] {
        let event = format!("data: {{\"error\":{failure}}}\n\n");
        let server = FakeServer::start([Script::stream([event.as_bytes()])]).await;
        let servers = servers(ServerKind::OpenAiChat, &server, |_| {});
        let exchanges = exchanges(&servers, NAME, ExchangeDetail::Bodies, &request().body).await;
        assert_eq!(facts(&exchanges[0]), (1, Some(200), "model_failed"));
        let reply = format!(r#"{{"error":"{expected}"}}"#);
        assert_eq!(exchanges[0].reply.as_deref(), Some(reply.as_str()));
    }
}

#[tokio::test]
async fn a_dropped_reply_is_an_exchange_with_its_first_pieces() {
    let server = FakeServer::start([Script::begun([EVENTS]).then_go_silent()]).await;
    let servers = servers(ServerKind::OpenAiChat, &server, |_| {});
    let (listener, exchanges) = listener(ExchangeDetail::Bodies);
    let request = ModelRequest { listener, ..request() };
    let mut pieces = servers.stream(NAME, request).await.unwrap();
    pieces.next().await.unwrap().unwrap();
    drop(pieces);
    let exchanges = exchanges.lock().unwrap();
    assert_eq!(facts(&exchanges[0]), (1, Some(200), "dropped"));
    assert_eq!(exchanges[0].reply.as_deref(), Some(r#"{"text":"sk-"}"#));
}

#[tokio::test]
async fn larger_bodies_are_omitted() {
    let server = FakeServer::start([Script::status(400, "", "no")]).await;
    let servers = servers(ServerKind::OpenAiChat, &server, |_| {});
    let check = async |bytes: usize, has_body: bool| {
        let around = r#"{"messages":[],"x":""}"#.len();
        let body = format!(r#"{{"messages":[],"x":"{}"}}"#, "y".repeat(bytes - around));
        let exchanges = exchanges(&servers, NAME, ExchangeDetail::Bodies, body.as_bytes()).await;
        assert_eq!(exchanges[0].request.is_some(), has_body, "{bytes}");
        exchanges[0].request_bytes - body.len()
    };
    // The fields that the client adds to a body count.
    let added = check(1_000, true).await;
    check(EXCHANGE_BODY_BYTES_MAX - added, true).await;
    check(EXCHANGE_BODY_BYTES_MAX - added + 1, false).await;
}

#[tokio::test]
async fn the_built_in_model_has_exchanges() {
    let server = FakeServer::start([]).await;
    let servers = servers(ServerKind::OpenAiChat, &server, |_| {});
    let body = formats::canonical::render(&context::Transcript::default()).body;
    let exchanges = exchanges(&servers, models::ECHO, ExchangeDetail::Bodies, &body).await;
    assert_eq!(exchanges.iter().map(facts).collect::<Vec<_>>(), [(1, None, "finished")]);
    assert_eq!(exchanges[0].reply.as_deref(), Some(r#"{"text":"echo: "}"#));
}
