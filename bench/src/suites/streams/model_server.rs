//! The bench's model server: OpenAI's chat completions at a fixed rate.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use futures::stream::{self, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

pub(super) const PATH: &str = "/chat/completions";
/// Time to the first piece.
pub(super) const FIRST: Duration = Duration::from_millis(200);
/// Time between pieces; at most the reading time of a person.
pub(super) const EVERY: Duration = Duration::from_millis(50);
pub(super) const WORD: &str = "verbatim ";

/// The server; stopped when dropped.
pub(super) struct ModelServer {
    addr: SocketAddr,
    serving: JoinHandle<()>,
}

impl ModelServer {
    /// Starts the server; each answer has `pieces` pieces.
    pub(super) async fn start(pieces: usize) -> anyhow::Result<Self> {
        let routes = Router::new().route(PATH, post(answer)).with_state(pieces);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let addr = listener.local_addr()?;
        let serving = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, routes).await {
                tracing::error!(%error, "the model server ended");
            }
        });
        Ok(Self { addr, serving })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(State(pieces): State<usize>) -> Response {
    let start = Instant::now();
    let words = stream::iter(0..pieces).then(move |piece| async move {
        let due = EVERY * u32::try_from(piece).unwrap_or(u32::MAX);
        sleep_until(start + FIRST + due).await;
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
