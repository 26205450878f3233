//! The gateway: posts messages and reads answers.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, RequestBuilder, Url};
use runtime::config::Secret;
use serde_json::Value;
use tokio::time::timeout;

use super::message::Message;
use super::notifications::Notifications;
use crate::exit::UsageError;
use crate::http_client::{self, secret_header};

/// The longest wait for an answer: more than the gateway takes for any.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// Most bytes of an answer: a history of 4 MiB as text and as structured content, escaped.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The reason of a request that the gateway does not answer within [`ANSWER_MAX`].
const NO_ANSWER: &str = "the gateway does not answer in time";

const REVISION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Where the gateway is, and who calls.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) url: String,
    pub(crate) token: Secret,
    pub(crate) agent: Option<String>,
    pub(crate) api_key: Option<Secret>,
    pub(crate) ca: Option<PathBuf>,
}

/// Why the gateway opens no stream.
#[derive(Debug)]
pub(super) enum ListenError {
    /// It answers with this error.
    Answered(Value),
    /// It does not answer, or rejects the request before it reads the message.
    Failed(String),
}

/// A client of the gateway.
#[derive(Debug)]
pub(super) struct Gateway {
    client: Client,
    url: Url,
    /// The revision that the handshake agreed on.
    agreed: Mutex<Option<HeaderValue>>,
}

impl Gateway {
    pub(super) fn new(endpoint: &Endpoint) -> Result<Self, UsageError> {
        let url = http_client::url(&endpoint.url, "https://chat.example.org/mcp")?;
        let client = http_client::client(headers(endpoint)?, endpoint.ca.as_deref())?;
        Ok(Self { client, url, agreed: Mutex::new(None) })
    }

    /// Posts a message. The answer of the gateway, or an error; `None` for a notification.
    pub(super) async fn send(&self, message: &Message) -> Option<Value> {
        match self.post(message).await {
            Ok(answer) => {
                if message.is_initialize() {
                    self.note_revision(answer.as_ref());
                }
                answer
            }
            Err(why) => message.failed(&why),
        }
    }

    async fn post(&self, message: &Message) -> Result<Option<Value>, String> {
        let answer = self.request(message).timeout(ANSWER_MAX).send().await.map_err(|error| unreachable(&error))?;
        json_of(answer).await
    }

    /// Opens a stream of notifications.
    ///
    /// # Errors
    /// The gateway answers with an error, or not at all.
    pub(super) async fn listen(&self, message: &Message) -> Result<Notifications, ListenError> {
        let sent = timeout(ANSWER_MAX, self.request(message).send())
            .await
            .map_err(|_| ListenError::Failed(NO_ANSWER.to_owned()))?;
        let answer = sent.map_err(|error| ListenError::Failed(unreachable(&error)))?;
        let content_type = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if content_type.is_some_and(|value| value.starts_with("text/event-stream")) {
            return Ok(Notifications::of(answer));
        }
        Err(match json_of(answer).await {
            Ok(Some(answer)) => ListenError::Answered(answer),
            Ok(None) => ListenError::Failed("the gateway opens no stream".to_owned()),
            Err(why) => ListenError::Failed(why),
        })
    }

    fn request(&self, message: &Message) -> RequestBuilder {
        let request = self.client.post(self.url.clone()).headers(self.headers_of(message));
        request.body(message.text().to_vec())
    }

    fn headers_of(&self, message: &Message) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let mut set = |name: HeaderName, value: Option<&str>| {
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
                headers.insert(name, value);
            }
        };
        if let Some(revision) = message.revision() {
            set(REVISION, Some(revision));
            set(METHOD, message.method());
            set(NAME, message.name());
        } else if !message.is_initialize() {
            let agreed = self.agreed.lock().unwrap_or_else(PoisonError::into_inner);
            set(REVISION, agreed.as_ref().and_then(|value| value.to_str().ok()));
        }
        headers
    }

    /// Later messages name the revision that the handshake agreed on.
    fn note_revision(&self, answer: Option<&Value>) {
        let result = answer.and_then(|answer| answer.get("result"));
        let revision = result
            .and_then(|result| result.get("protocolVersion")?.as_str())
            .and_then(|revision| HeaderValue::from_str(revision).ok());
        *self.agreed.lock().unwrap_or_else(PoisonError::into_inner) = revision;
    }
}

fn headers(endpoint: &Endpoint) -> Result<HeaderMap, UsageError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let both = HeaderValue::from_static("application/json, text/event-stream");
    headers.insert(ACCEPT, both);
    let bearer = format!("Bearer {}", endpoint.token.expose());
    headers.insert(AUTHORIZATION, secret_header(&bearer, "the token")?);
    if let Some(key) = &endpoint.api_key {
        let name = HeaderName::from_static("x-api-key");
        headers.insert(name, secret_header(key.expose(), "the API key")?);
    }
    if let Some(agent) = &endpoint.agent {
        let name = HeaderName::from_static("x-agent-id");
        headers.insert(name, secret_header(agent, "--agent")?);
    }
    Ok(headers)
}

/// The answer; `None`: a notification is accepted.
async fn json_of(answer: reqwest::Response) -> Result<Option<Value>, String> {
    let (status, body) = (answer.status(), read(answer).await?);
    if status.as_u16() == 202 {
        return Ok(None);
    }
    let json: Option<Value> = serde_json::from_slice(&body).ok();
    match json {
        Some(json) if json.get("jsonrpc").is_some() => Ok(Some(json)),
        Some(problem) => {
            let detail = problem.get("detail").and_then(Value::as_str).unwrap_or("see the gateway's log");
            Err(format!("the gateway answers {status}: {detail}"))
        }
        None => Err(format!("the gateway answers {status}: check --url, which must end with /mcp")),
    }
}

async fn read(mut answer: reqwest::Response) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    while let Some(bytes) = answer.chunk().await.map_err(|error| unreachable(&error))? {
        body.extend_from_slice(&bytes);
        if body.len() > ANSWER_BYTES_MAX {
            return Err("the answer of the gateway is larger than 64 MiB".to_owned());
        }
    }
    Ok(body)
}

/// Why there is no answer. The URL is left out: it may contain a password.
fn unreachable(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return NO_ANSWER.to_owned();
    }
    let why = if error.is_connect() {
        "cannot be reached: check --url, and that it runs"
    } else {
        "has closed the connection"
    };
    format!("the gateway {why}")
}
