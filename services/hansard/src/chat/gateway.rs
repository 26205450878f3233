//! The gateway's HTTP API, as one caller uses it.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, RequestBuilder, Response, Url};
use runtime::config::Secret;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::session::SessionFile;
use crate::exit::UsageError;
use crate::http_client::{self, secret_header};
use crate::printable::line;

/// The longest wait for the first byte of an answer.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// Most bytes of an answer that is not a stream.
const BODY_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Most characters of a reason that is shown.
const REASON_CHARS_MAX: usize = 500;

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const SESSION: HeaderName = HeaderName::from_static("x-session-id");
const USER_TOKEN: HeaderName = HeaderName::from_static("x-user-token");
const POSITION: HeaderName = HeaderName::from_static("x-position-token");

/// Where the gateway is, and who calls.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) url: String,
    pub(crate) api_key: Secret,
    /// The token of a user; `None`: the caller is the session.
    pub(crate) user_token: Option<Secret>,
    /// A service token, which may read contexts.
    pub(crate) service_token: Option<Secret>,
    /// The file of the session.
    pub(crate) session_file: PathBuf,
    pub(crate) ca: Option<PathBuf>,
}

/// Why a request has no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum GatewayError {
    /// The gateway rejects it.
    #[error("{detail} ({code})")]
    Rejected { code: String, detail: String },
    /// No connection is possible.
    #[error("the gateway cannot be reached: check --url, and that it runs")]
    NotReachable,
    /// The connection is lost, or the answer does not arrive in time.
    #[error("the connection to the gateway is lost")]
    Lost,
    /// The answer is none that this program understands.
    #[error("{0}")]
    Unexpected(String),
}

/// A client of the gateway.
#[derive(Debug)]
pub(super) struct Gateway {
    client: Client,
    url: Url,
    service_token: Option<Secret>,
    session_file: Option<SessionFile>,
    /// The headers of the caller. Answers change the session, and the position of the last write.
    headers: Mutex<HeaderMap>,
}

impl Gateway {
    /// A client; without a user's token, its session is read, or issued and saved.
    pub(super) async fn connect(endpoint: Endpoint) -> anyhow::Result<Self> {
        let is_user = endpoint.user_token.is_some();
        let gateway = Self {
            client: http_client::client(HeaderMap::new(), endpoint.ca.as_deref())?,
            headers: Mutex::new(headers(&endpoint)?),
            url: http_client::url(&endpoint.url, "https://chat.example.org")?,
            service_token: endpoint.service_token,
            session_file: (!is_user).then(|| SessionFile::at(endpoint.session_file)),
        };
        gateway.begin_session().await?;
        Ok(gateway)
    }

    async fn begin_session(&self) -> anyhow::Result<()> {
        let Some(file) = &self.session_file else {
            return Ok(());
        };
        let session = if let Some(session) = file.read()? {
            session
        } else {
            let issued = self.post("/api/sessions", &json!({})).await?;
            let session =
                issued.get("sessionId").and_then(Value::as_str).map(Secret::new).ok_or_else(unknown_answer)?;
            file.write(&session)?;
            session
        };
        let mut value = HeaderValue::from_str(session.expose())
            .map_err(|_| UsageError(format!("the session file {} is damaged: delete it", file.name())))?;
        value.set_sensitive(true);
        self.set(SESSION, value);
        Ok(())
    }

    /// Whether there is a service token.
    pub(super) fn may_read_contexts(&self) -> bool {
        self.service_token.is_some()
    }

    pub(super) async fn get(&self, path: &str) -> Result<Value, GatewayError> {
        self.json(self.request(Method::GET, path)).await
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value, GatewayError> {
        self.json(self.request(Method::POST, path).json(body)).await
    }

    pub(super) async fn patch(&self, path: &str, body: &Value) -> Result<Value, GatewayError> {
        self.json(self.request(Method::PATCH, path).json(body)).await
    }

    /// A `GET` with the service token in place of the API key.
    pub(super) async fn get_as_service(&self, path: &str, agent: &str) -> Result<Value, GatewayError> {
        let token = self.service_token.as_ref().map_or("", Secret::expose);
        let request = self.client.get(self.at(path)).bearer_auth(token).header("x-agent-id", agent);
        self.json(request).await
    }

    /// A request of the caller.
    pub(super) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let headers = self.headers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.client.request(method, self.at(path)).headers(headers)
    }

    /// Sends a request; the answer is not an error.
    pub(super) async fn send(&self, request: RequestBuilder) -> Result<Response, GatewayError> {
        let sent = timeout(ANSWER_MAX, request.send()).await;
        let answer = sent
            .map_err(|_| GatewayError::Lost)?
            .map_err(|error| if error.is_connect() { GatewayError::NotReachable } else { GatewayError::Lost })?;
        self.note_headers(answer.headers());
        if answer.status().is_success() {
            return Ok(answer);
        }
        Err(rejected(answer).await)
    }

    /// Sends a request and reads the JSON of its answer; `null` without a body.
    async fn json(&self, request: RequestBuilder) -> Result<Value, GatewayError> {
        let body = read(self.send(request).await?).await?;
        if body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&body).map_err(|_| unknown_answer())
    }

    /// Later requests have the renewed session, and the position of the last write.
    fn note_headers(&self, headers: &HeaderMap) {
        if let Some(position) = headers.get(POSITION) {
            self.set(POSITION, position.clone());
        }
        if let (Some(file), Some(session)) = (&self.session_file, headers.get(SESSION)) {
            // If the file cannot be written, the earlier session is valid until it expires.
            if let Ok(text) = session.to_str() {
                let _ = file.write(&Secret::new(text));
            }
            let mut session = session.clone();
            session.set_sensitive(true);
            self.set(SESSION, session);
        }
    }

    fn set(&self, name: HeaderName, value: HeaderValue) {
        let mut headers = self.headers.lock().unwrap_or_else(PoisonError::into_inner);
        headers.insert(name, value);
    }

    /// The URL of a path, below that of the gateway.
    fn at(&self, path: &str) -> Url {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let mut url = self.url.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}{path}"));
        url.set_query(Some(query).filter(|query| !query.is_empty()));
        url
    }
}

fn headers(endpoint: &Endpoint) -> Result<HeaderMap, UsageError> {
    let mut headers = HeaderMap::new();
    headers.insert(API_KEY, secret_header(endpoint.api_key.expose(), "the API key")?);
    if let Some(token) = &endpoint.user_token {
        headers.insert(USER_TOKEN, secret_header(token.expose(), "the user's token")?);
    }
    Ok(headers)
}

/// The problem of an answer.
async fn rejected(answer: Response) -> GatewayError {
    let status = answer.status();
    let body = read(answer).await.unwrap_or_default();
    let problem: Value = serde_json::from_slice(&body).unwrap_or_default();
    let text = |member: &str| problem.get(member).and_then(Value::as_str);
    let code = line(text("code").unwrap_or("unknown"), REASON_CHARS_MAX);
    let detail = match text("detail") {
        Some(detail) => line(detail, REASON_CHARS_MAX),
        None => format!("the gateway answers {status}: check --url"),
    };
    GatewayError::Rejected { code, detail }
}

async fn read(mut answer: Response) -> Result<Vec<u8>, GatewayError> {
    let mut body = Vec::new();
    loop {
        let chunk = timeout(ANSWER_MAX, answer.chunk()).await.map_err(|_| GatewayError::Lost)?;
        let Some(bytes) = chunk.map_err(|_| GatewayError::Lost)? else {
            return Ok(body);
        };
        body.extend_from_slice(&bytes);
        if body.len() > BODY_BYTES_MAX {
            let why = "the answer of the gateway is larger than 32 MiB: use /export";
            return Err(GatewayError::Unexpected(why.to_owned()));
        }
    }
}

fn unknown_answer() -> GatewayError {
    let why = "the answer is not that of a gateway: check --url";
    GatewayError::Unexpected(why.to_owned())
}
