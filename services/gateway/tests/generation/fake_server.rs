//! A model server with scripted replies in the format of OpenAI chat completions.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use futures::stream;
use gateway::GatewayConfig;
use models::{ModelServerConfig, ServerKind};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Its name among the model servers.
pub(crate) const NAME: &str = "fake";

/// The reply to one request.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// A text.
    Text(&'static str),
    /// Calls of tools: id, name, input.
    Calls(Vec<(&'static str, &'static str, &'static str)>),
    /// Only a status.
    Refused(u16),
    /// A text, and then the connection breaks.
    BrokenOff(&'static str),
    /// A text, and then an error.
    Failing(&'static str),
}

#[derive(Debug, Clone)]
struct Script {
    replies: Arc<Mutex<VecDeque<Reply>>>,
    requests: Arc<Mutex<Vec<Value>>>,
}

/// A server; it ends when dropped.
pub(crate) struct FakeServer {
    addr: SocketAddr,
    script: Script,
    serving: JoinHandle<()>,
}

/// Starts a server with these replies, in order; the last one repeats.
pub(crate) async fn start(replies: Vec<Reply>) -> FakeServer {
    let script = Script { replies: Arc::new(Mutex::new(replies.into())), requests: Arc::default() };
    let routes = Router::new().route("/chat/completions", post(answer)).with_state(script.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
    FakeServer { addr, script, serving }
}

impl FakeServer {
    /// Adds it to a gateway's model servers.
    pub(crate) fn join(&self, config: &mut GatewayConfig) {
        let server = ModelServerConfig {
            kind: ServerKind::OpenAiChat,
            base_url: Some(format!("http://{}", self.addr)),
            retries_max: 0,
            ..ModelServerConfig::default()
        };
        config.models.0.insert(NAME.to_owned(), server);
    }

    /// The bodies of all requests so far.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.script.requests.lock().unwrap().clone()
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(State(script): State<Script>, body: Bytes) -> Response {
    let request = serde_json::from_slice(&body).unwrap();
    script.requests.lock().unwrap().push(request);
    let mut replies = script.replies.lock().unwrap();
    let reply = match replies.len() {
        1 => replies[0].clone(),
        _ => replies.pop_front().unwrap(),
    };
    drop(replies);
    match reply {
        Reply::Refused(status) => StatusCode::from_u16(status).unwrap().into_response(),
        Reply::Text(text) => {
            streamed(vec![delta(&json!({"role": "assistant", "content": text})), finish("stop"), done()])
        }
        Reply::Calls(calls) => {
            let calls: Vec<Value> = (0..).zip(&calls).map(call).collect();
            let calls = delta(&json!({"role": "assistant", "tool_calls": calls}));
            streamed(vec![calls, finish("tool_calls"), done()])
        }
        Reply::BrokenOff(text) => streamed(vec![delta(&json!({"content": text}))]),
        Reply::Failing(text) => {
            let error = json!({"error": {"type": "server_error", "message": "it broke"}});
            streamed(vec![delta(&json!({"content": text})), event(&error)])
        }
    }
}

fn call((index, (id, name, input)): (usize, &(&str, &str, &str))) -> Value {
    let function = json!({"name": name, "arguments": input});
    json!({"index": index, "id": id, "type": "function", "function": function})
}

fn delta(delta: &Value) -> String {
    event(&json!({"id": "r", "model": "m", "choices": [{"index": 0, "delta": delta}]}))
}

fn finish(reason: &str) -> String {
    let choice = json!({"index": 0, "delta": {}, "finish_reason": reason});
    event(&json!({"id": "r", "model": "m", "choices": [choice]}))
}

fn done() -> String {
    "data: [DONE]\n\n".to_owned()
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

fn streamed(events: Vec<String>) -> Response {
    let events = events.into_iter().map(Ok::<_, std::io::Error>);
    let body = Body::from_stream(stream::iter(events));
    ([("content-type", "text/event-stream")], body).into_response()
}
