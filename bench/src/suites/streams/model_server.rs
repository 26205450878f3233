//! The bench's model server: OpenAI's chat completions at a fixed rate.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::serve::ListenerExt as _;
use futures::stream::{self, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

pub(in crate::suites) const PATH: &str = "/chat/completions";
/// Time to the first piece.
pub(in crate::suites) const FIRST: Duration = Duration::from_millis(200);
/// Time between pieces; at most the reading time of a person.
pub(in crate::suites) const EVERY: Duration = Duration::from_millis(50);
pub(in crate::suites) const WORD: &str = "verbatim ";

#[derive(Debug, Clone, Copy)]
struct Answers {
    pieces: usize,
    /// Time to the first piece.
    first: Duration,
}

/// The server; stopped when dropped.
pub(in crate::suites) struct ModelServer {
    addr: SocketAddr,
    serving: JoinHandle<()>,
}

impl ModelServer {
    /// Starts the server; each answer has `pieces` pieces, the first of them after this time.
    pub(in crate::suites) async fn start(pieces: usize, first: Duration) -> anyhow::Result<Self> {
        let answers = Answers { pieces, first };
        let routes = Router::new().route(PATH, post(answer)).with_state(answers);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let addr = listener.local_addr()?;
        // The first piece follows the headers at once: with Nagle's algorithm it would wait for their acknowledgement.
        let listener = listener.tap_io(|connection| {
            if let Err(error) = connection.set_nodelay(true) {
                tracing::warn!(%error, "a connection with Nagle's algorithm");
            }
        });
        let serving = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, routes).await {
                tracing::error!(%error, "the model server ended");
            }
        });
        Ok(Self { addr, serving })
    }

    pub(in crate::suites) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(State(answers): State<Answers>) -> Response {
    let start = Instant::now() + answers.first;
    let words = stream::iter(0..answers.pieces).then(move |piece| async move {
        let due = EVERY * u32::try_from(piece).unwrap_or(u32::MAX);
        sleep_until(start + due).await;
        choice(&json!({"content": WORD}), None)
    });
    let end = choice(&json!({}), Some("stop")) + "data: [DONE]\n\n";
    let events = words.chain(stream::once(async move { end }));
    let body = Body::from_stream(events.map(Ok::<_, Infallible>));
    ([("content-type", "text/event-stream")], body).into_response()
}

fn choice(delta: &Value, finish_reason: Option<&str>) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish_reason});
    let chunk = json!({"id": "r", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]});
    format!("data: {chunk}\n\n")
}
