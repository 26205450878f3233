//! A server with one guarded route, and requests to it.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::routing::get;
use gateway::http::router;
use http_listener::config::{HttpSection, RateLimit};
use http_listener::cors;
use http_listener::rate_limits::RateLimits;
use reqwest::{Client, Method, Response};
use runtime::health::Health;
use runtime::http::{HttpConfig, HttpProblem, HttpServer};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

const DEADLINE: Duration = Duration::from_secs(30);

/// The origin that every key of this test allows.
pub(crate) const ORIGIN: &str = "https://example.org";

/// More requests than any test sends.
pub(crate) const PLENTY: RateLimit = RateLimit { per_second: 1_000, burst: 1_000 };

/// A caller whose key and session are the values of the headers.
struct Caller;

impl FromRequestParts<RateLimits> for Caller {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, limits: &RateLimits) -> Result<Self, HttpProblem> {
        let text = |name: &str| Some(parts.headers.get(name)?.to_str().ok()?.to_owned());
        let unknown = || HttpProblem::new(StatusCode::UNAUTHORIZED, "UNAUTHENTICATED", "no key");
        let key = text("x-api-key").ok_or_else(unknown)?;
        cors::admit(parts, &[ORIGIN.to_owned()])?;
        limits.admit_key(parts, &key)?;
        if let Some(session) = text("x-session") {
            limits.admit_session(&parts.extensions, &key, &session)?;
        }
        Ok(Self)
    }
}

async fn hello(_caller: Caller, State(_limits): State<RateLimits>) -> &'static str {
    "hello"
}

pub(crate) struct TestServer {
    addr: SocketAddr,
    client: Client,
    _end: tokio_util::sync::DropGuard,
    _server: JoinHandle<()>,
}

pub(crate) async fn serve(change: impl FnOnce(&mut HttpSection)) -> TestServer {
    let mut section = HttpSection { server: HttpConfig::default(), ..HttpSection::default() };
    section.limits.key = PLENTY;
    section.limits.session = PLENTY;
    section.limits.address = PLENTY;
    change(&mut section);
    let limits = RateLimits::new(&section);
    let routes = Router::new().route("/hello", get(hello)).with_state(limits.clone());
    let server = HttpServer::new(section.server, Health::new(&[]))
        .router(routes)
        .layered(|routes| router::guarded(routes, limits, |_| None))
        .bind()
        .await
        .unwrap();
    let (addr, end) = (server.local_addr(), CancellationToken::new());
    let serving = server.serve(end.clone());
    TestServer {
        addr,
        client: client(),
        _end: end.drop_guard(),
        _server: tokio::spawn(async move {
            let _ = serving.await;
        }),
    }
}

impl TestServer {
    pub(crate) async fn get(&self, headers: &[(&str, &str)]) -> Response {
        self.send(Method::GET, headers).await
    }

    pub(crate) async fn send(&self, method: Method, headers: &[(&str, &str)]) -> Response {
        let url = format!("http://{}/hello", self.addr);
        let request = self.client.request(method, url);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        timeout(DEADLINE, request.send()).await.unwrap().unwrap()
    }
}

/// A header of an answer.
pub(crate) fn header<'a>(answer: &'a Response, name: &str) -> Option<&'a str> {
    answer.headers().get(name)?.to_str().ok()
}

/// A client. Rustls needs a default provider, because this process has more than one.
fn client() -> Client {
    // The first call wins; all calls install the same provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().build().unwrap()
}
