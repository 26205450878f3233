//! A model server of the tests, which speaks OpenAI's chat completions and says what it is told to.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// What it answers to one request.
pub enum Reply {
    /// A text.
    Text(String),
    /// A text, of which the first piece comes only after so long.
    Late(Duration, String),
    /// A call of a tool: id and name; without input.
    Call(&'static str, &'static str),
    /// A failure, in its own words.
    Refused(StatusCode, Value),
    /// A text that ends with a failure, in its own words.
    Failing(String, Value),
}

type Answers = Arc<dyn Fn(usize) -> Reply + Send + Sync>;

/// The server.
#[derive(Clone)]
pub struct Model {
    addr: SocketAddr,
    asked: Arc<Mutex<Vec<Value>>>,
}

#[derive(Clone)]
struct Script {
    answers: Answers,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Model {
    /// Starts a server that is told what to answer by how often it was asked before.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start(answers: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Self {
        let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
        let script = Script {
            answers: Arc::new(answers),
            asked: Arc::clone(&asked),
        };
        let routes = Router::new()
            .route("/chat/completions", post(answer))
            .with_state(script);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let addr = listener.local_addr().expect("an address");
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { addr, asked }
    }

    /// The settings of a gateway that knows it by this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Value {
        let url = format!("http://{}", self.addr);
        json!({name: {"kind": "openai_chat", "base_url": url, "retries_max": 0}})
    }

    /// The bodies of all requests so far.
    ///
    /// # Panics
    /// When an answer has panicked.
    #[must_use]
    pub fn asked(&self) -> Vec<Value> {
        self.asked.lock().expect("no panic before").clone()
    }
}

async fn answer(State(script): State<Script>, body: Bytes) -> Response {
    let before = {
        let mut asked = script.asked.lock().expect("no panic before");
        asked.push(serde_json::from_slice(&body).expect("JSON"));
        asked.len() - 1
    };
    match (script.answers)(before) {
        Reply::Text(text) => said(&text),
        Reply::Late(delay, text) => {
            tokio::time::sleep(delay).await;
            said(&text)
        }
        Reply::Call(id, name) => {
            let function = json!({"name": name, "arguments": "{}"});
            let call = json!({"index": 0, "id": id, "type": "function", "function": function});
            let delta = json!({"role": "assistant", "tool_calls": [call]});
            streamed(&[choice(&delta, None), choice(&json!({}), Some("tool_calls"))])
        }
        Reply::Refused(status, words) => (status, axum::Json(words)).into_response(),
        Reply::Failing(text, words) => streamed(&[choice(&json!({"content": text}), None), words]),
    }
}

fn said(text: &str) -> Response {
    let delta = json!({"role": "assistant", "content": text});
    streamed(&[choice(&delta, None), choice(&json!({}), Some("stop"))])
}

fn choice(delta: &Value, finish_reason: Option<&str>) -> Value {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish_reason});
    json!({"id": "r", "model": "m", "choices": [choice]})
}

fn streamed(events: &[Value]) -> Response {
    let events = events.iter().map(|event| format!("data: {event}\n\n"));
    let body: String = events.chain(["data: [DONE]\n\n".to_owned()]).collect();
    ([("content-type", "text/event-stream")], body).into_response()
}
