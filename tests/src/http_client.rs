//! An HTTP client of a gateway, as a frontend uses it.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use bytes::Bytes;
use reqwest::header::HeaderValue;
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, Method, Response};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::eventually::{eventually, within};

/// A client that sends the same headers with each request. Clones share connections.
#[derive(Debug, Clone)]
pub struct HttpClient {
    base: String,
    client: Client,
    headers: BTreeMap<String, String>,
}

/// An HTTP answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers that are text, by name.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Bytes,
}

impl HttpClient {
    /// A client without headers.
    ///
    /// # Panics
    /// When no client can be created.
    #[must_use]
    pub fn at(addr: SocketAddr) -> Self {
        // The first caller installs the provider for all; it is always the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // Tests check where an answer leads.
        let client = Client::builder().no_proxy().redirect(Policy::none()).build();
        Self { base: format!("http://{addr}"), client: client.expect("a client"), headers: BTreeMap::new() }
    }

    /// A client over TLS that trusts the CA in this file, with this local address.
    ///
    /// # Panics
    /// When the file has no CA, or no client can be created.
    #[must_use]
    pub fn over_tls(addr: SocketAddr, ca: &Path, from: Ipv4Addr) -> Self {
        let plain = Self::at(addr);
        let pem = std::fs::read(ca).expect("a CA");
        let trusted = [Certificate::from_pem(&pem).expect("a CA")];
        let client = Client::builder().no_proxy().tls_certs_only(trusted).local_address(IpAddr::from(from));
        Self { base: format!("https://{addr}"), client: client.build().expect("a client"), ..plain }
    }

    /// The same client with one more header.
    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut client = self.clone();
        client.headers.insert(name.to_owned(), value.to_owned());
        client
    }

    /// The same client in a new session that the gateway issues; waits until the gateway knows the API key.
    ///
    /// # Panics
    /// When none is issued in time.
    pub async fn in_session(&self) -> Self {
        let issued = eventually("an issued session", || async {
            let answer = self.post("/api/sessions", &json!({})).await;
            (answer.status == 201).then(|| answer.json())
        })
        .await;
        let token = issued.get("sessionId").and_then(Value::as_str);
        self.with("x-session-id", token.expect("a session"))
    }

    /// The session of this client.
    ///
    /// # Panics
    /// When it has none.
    #[must_use]
    pub fn session_id(&self) -> &str {
        self.headers.get("x-session-id").expect("a session")
    }

    /// The same client without a header.
    #[must_use]
    pub fn without(&self, name: &str) -> Self {
        let mut client = self.clone();
        client.headers.remove(name);
        client
    }

    /// The same client for another gateway.
    #[must_use]
    pub fn with_addr(&self, addr: SocketAddr) -> Self {
        Self { base: format!("http://{addr}"), ..self.clone() }
    }

    /// The URL of a path.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// A request that is not sent yet.
    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.client.request(method, self.url(path));
        let headers = self.headers.iter();
        headers.fold(request, |request, (name, value)| request.header(name, value))
    }

    /// Sends a request.
    ///
    /// # Panics
    /// When there is no whole answer in time.
    pub async fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let mut request = self.request(method, path);
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = within(path, request.send()).await.expect("an answer");
        Answer::read(path, answer).await
    }

    /// Gets.
    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None).await
    }

    /// Posts JSON.
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, Some(body)).await
    }

    /// Patches with JSON.
    pub async fn patch(&self, path: &str, body: &Value) -> Answer {
        self.send("PATCH", path, Some(body)).await
    }

    /// Deletes.
    pub async fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, None).await
    }

    /// Erases a chat, and returns the 204. The request is repeated with the same idempotency key, this client's or a new one,
    /// while commits are being overwritten (202) and while the rows lag (503).
    ///
    /// # Panics
    /// When the answer has another status, or the erasure is not complete in time.
    pub async fn erase(&self, path: &str) -> Answer {
        let mut client = self.clone();
        let key = client.headers.entry("idempotency-key".to_owned());
        key.or_insert_with(|| Uuid::now_v7().to_string());
        eventually(&format!("the erasure of {path}"), || async {
            let answer = client.delete(path).await;
            if matches!(answer.status, 202 | 503) {
                return None;
            }
            answer.ok(204);
            Some(answer)
        })
        .await
    }
}

impl Answer {
    /// Reads a whole answer.
    ///
    /// # Panics
    /// When there is no whole body in time.
    pub async fn read(path: &str, answer: Response) -> Self {
        let text = |value: &HeaderValue| value.to_str().map(str::to_owned);
        let headers = answer.headers().iter().filter_map(|(name, value)| Some((name.to_string(), text(value).ok()?)));
        Self {
            status: answer.status().as_u16(),
            headers: headers.collect(),
            body: within(path, answer.bytes()).await.expect("a body"),
        }
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// When the body is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let json = serde_json::from_slice(&self.body);
        json.unwrap_or_else(|_| panic!("JSON, and not {:?}", self.body))
    }

    /// The body as JSON after a check of the status.
    ///
    /// # Panics
    /// When the status differs.
    pub fn ok(&self, status: u16) -> Value {
        let body = String::from_utf8_lossy(&self.body);
        assert_eq!(self.status, status, "{body}");
        if self.body.is_empty() {
            return Value::Null;
        }
        self.json()
    }

    /// The status and the error code; the code is empty if there is none.
    #[must_use]
    pub fn status_and_code(&self) -> (u16, String) {
        let body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let code = body.get("code").and_then(Value::as_str);
        (self.status, code.unwrap_or_default().to_owned())
    }
}
