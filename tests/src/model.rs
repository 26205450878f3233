//! A model server for tests with OpenAI's Chat Completions and Responses, and scripted answers.

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

/// The answer to one request.
pub enum Reply {
    /// A text.
    Text(String),
    /// A text, then its `usage` as JSON.
    Reporting(String, String),
    /// A text whose first piece arrives after this delay.
    Late(Duration, String),
    /// A text and its finish reason.
    Ending(&'static str, &'static str),
    /// An answer without any content, for example of a filter: its finish reason.
    Empty(&'static str),
    /// A tool call without input: id and name.
    Call(&'static str, &'static str),
    /// These pieces of a message, then its finish reason.
    Deltas(Vec<Value>, &'static str),
    /// A failure with this message.
    Refused(StatusCode, Value),
    /// A text that ends with a failure with this message.
    Failing(String, Value),
}

type Answers = Arc<dyn Fn(&[Value]) -> Reply + Send + Sync>;

/// The server.
#[derive(Clone)]
pub struct Model {
    addr: SocketAddr,
    requests: Arc<Mutex<Vec<Value>>>,
    last_body: Arc<Mutex<Bytes>>,
}

#[derive(Clone)]
struct Script {
    answers: Answers,
    requests: Arc<Mutex<Vec<Value>>>,
    last_body: Arc<Mutex<Bytes>>,
}

impl Model {
    /// Starts a server; the script gets the number of earlier requests.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start(answers: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Self {
        Self::answering(move |requests| answers(requests.len().saturating_sub(1))).await
    }

    /// Starts a server; the script gets the bodies of all requests, the one to answer last.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn answering(answers: impl Fn(&[Value]) -> Reply + Send + Sync + 'static) -> Self {
        let requests: Arc<Mutex<Vec<Value>>> = Arc::default();
        let last_body: Arc<Mutex<Bytes>> = Arc::default();
        let script =
            Script { answers: Arc::new(answers), requests: Arc::clone(&requests), last_body: Arc::clone(&last_body) };
        let routes = Router::new()
            .route("/chat/completions", post(answer))
            .route("/responses", post(answer_response))
            .with_state(script);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let addr = listener.local_addr().expect("an address");
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { addr, requests, last_body }
    }

    /// Settings of a gateway with this model server under this name.
    #[must_use]
    pub fn settings_as(&self, name: &str) -> Value {
        self.settings_of(name, "openai_chat")
    }

    /// The same for the kind `openai_responses`.
    #[must_use]
    pub fn responses_settings_as(&self, name: &str) -> Value {
        self.settings_of(name, "openai_responses")
    }

    fn settings_of(&self, name: &str, kind: &str) -> Value {
        let url = format!("http://{}", self.addr);
        json!({name: {"kind": kind, "base_url": url, "retries_max": 0}})
    }

    /// The bodies of all requests so far.
    ///
    /// # Panics
    /// When the script has panicked.
    #[must_use]
    pub fn requests(&self) -> Vec<Value> {
        self.requests.lock().expect("no panic before").clone()
    }

    /// The body of the last request, byte for byte.
    ///
    /// # Panics
    /// When the script has panicked, or the body is not UTF-8.
    #[must_use]
    pub fn last_body(&self) -> String {
        let body = self.last_body.lock().expect("no panic before").to_vec();
        String::from_utf8(body).expect("UTF-8")
    }
}

impl Script {
    /// The answer to the next request.
    fn reply(&self, body: &Bytes) -> Reply {
        self.last_body.lock().expect("no panic before").clone_from(body);
        let requests = {
            let mut requests = self.requests.lock().expect("no panic before");
            requests.push(serde_json::from_slice(body).expect("JSON"));
            requests.clone()
        };
        (self.answers)(&requests)
    }
}

/// A text, after reasoning that its provider encrypted and also streams, or a call.
async fn answer_response(State(script): State<Script>, body: Bytes) -> Response {
    let items = match script.reply(&body) {
        Reply::Text(text) => {
            let text = json!({"type": "output_text", "text": text, "annotations": []});
            vec![
                json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"}),
                json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}),
            ]
        }
        Reply::Call(id, name) => {
            vec![json!({"type": "function_call", "id": "fc_1", "call_id": id, "name": name, "arguments": "{}"})]
        }
        Reply::Reporting(..)
        | Reply::Late(..)
        | Reply::Ending(..)
        | Reply::Empty(_)
        | Reply::Deltas(..)
        | Reply::Refused(..)
        | Reply::Failing(..) => {
            panic!("only texts and calls are scripted for Responses")
        }
    };
    let thought = json!({"type": "response.reasoning_text.delta", "output_index": 0, "delta": "hm"});
    let thought = (items.len() > 1).then_some(thought);
    let done = items
        .iter()
        .enumerate()
        .map(|(index, item)| json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    let completed = json!({"id": "resp_1", "model": "m", "status": "completed", "output": items});
    let completed = json!({"type": "response.completed", "response": completed});
    let events: Vec<String> =
        thought.into_iter().chain(done).chain([completed]).map(|event| format!("data: {event}\n\n")).collect();
    ([("content-type", "text/event-stream")], events.concat()).into_response()
}

async fn answer(State(script): State<Script>, body: Bytes) -> Response {
    match script.reply(&body) {
        Reply::Text(text) => text_answer(&text),
        Reply::Reporting(text, usage) => {
            let report = format!(r#"{{"id":"r","model":"m","choices":[],"usage":{usage}}}"#);
            stream_texts(text_choices(&text).iter().map(Value::to_string).chain([report]))
        }
        Reply::Late(delay, text) => {
            tokio::time::sleep(delay).await;
            text_answer(&text)
        }
        Reply::Ending(text, reason) => {
            let delta = json!({"role": "assistant", "content": text});
            stream_answer(&[choice(&delta, None), choice(&json!({}), Some(reason))])
        }
        Reply::Empty(reason) => {
            let delta = json!({"role": "assistant", "content": ""});
            stream_answer(&[choice(&delta, None), choice(&json!({}), Some(reason))])
        }
        Reply::Call(id, name) => {
            let function = json!({"name": name, "arguments": "{}"});
            let call = json!({"index": 0, "id": id, "type": "function", "function": function});
            let delta = json!({"role": "assistant", "tool_calls": [call]});
            stream_answer(&[choice(&delta, None), choice(&json!({}), Some("tool_calls"))])
        }
        Reply::Deltas(deltas, reason) => {
            let end = choice(&json!({}), Some(reason));
            stream_answer(&deltas.iter().map(|delta| choice(delta, None)).chain([end]).collect::<Vec<_>>())
        }
        Reply::Refused(status, words) => (status, axum::Json(words)).into_response(),
        Reply::Failing(text, words) => stream_answer(&[choice(&json!({"content": text}), None), words]),
    }
}

fn text_answer(text: &str) -> Response {
    stream_answer(&text_choices(text))
}

fn text_choices(text: &str) -> [Value; 2] {
    let delta = json!({"role": "assistant", "content": text});
    [choice(&delta, None), choice(&json!({}), Some("stop"))]
}

fn choice(delta: &Value, finish_reason: Option<&str>) -> Value {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish_reason});
    json!({"id": "r", "model": "m", "choices": [choice]})
}

fn stream_answer(events: &[Value]) -> Response {
    stream_texts(events.iter().map(Value::to_string))
}

fn stream_texts(events: impl Iterator<Item = String>) -> Response {
    let events = events.map(|event| format!("data: {event}\n\n"));
    let body: String = events.chain(["data: [DONE]\n\n".to_owned()]).collect();
    ([("content-type", "text/event-stream")], body).into_response()
}
