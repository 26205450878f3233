//! Rate limits by API key, service token, session and client address.

pub mod client_address;
pub mod limiter;
mod live_streams;

use std::net::IpAddr;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use governor::clock::DefaultClock;
use ipnet::IpNet;
use metrics::counter;
use runtime::http::{HttpProblem, Peer, address_key};

use crate::config::HttpSection;
use client_address::{client_address, is_missing_proxy};
use limiter::{Allowance, Limiter};
use live_streams::LiveStreams;

pub use live_streams::CountedStream;

/// The size of the bucket, the requests that are left, and the seconds until it is full.
const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// Distinguishes ids of service tokens from ids of API keys, which have the same form.
const SERVICE_TOKEN: &str = "token ";

/// Returns the id of the service token of a request; `None`: the request has none, or the token is not known to be valid.
pub type TokenId = Arc<dyn Fn(&HeaderMap) -> Option<Arc<str>> + Send + Sync>;

/// What the layer needs.
#[derive(Clone)]
pub struct Admission {
    /// The limits.
    pub limits: RateLimits,
    /// How a request names its service token.
    pub token_id: TokenId,
}

/// The rate limits of one gateway; each gateway counts for itself. Clones share it.
#[derive(Debug, Clone)]
pub struct RateLimits(Arc<Limiters>);

#[derive(Debug)]
struct Limiters {
    keys: Limiter<String>,
    sessions: Limiter<(String, String)>,
    addresses: Limiter<IpAddr>,
    live_streams: LiveStreams,
    live_streams_max: usize,
    trusted_proxies: Vec<IpNet>,
    is_proxy_warned: Once,
}

impl RateLimits {
    /// Full buckets.
    #[must_use]
    pub fn new(section: &HttpSection) -> Self {
        let limits = &section.limits;
        Self(Arc::new(Limiters {
            keys: Limiter::new(limits.key, DefaultClock::default()),
            sessions: Limiter::new(limits.session, DefaultClock::default()),
            addresses: Limiter::new(limits.address, DefaultClock::default()),
            live_streams: LiveStreams::default(),
            live_streams_max: section.live.per_address_max,
            trusted_proxies: section.trusted_proxies.clone(),
            is_proxy_warned: Once::new(),
        }))
    }

    /// Counts a request of an API key.
    ///
    /// # Errors
    /// 429 `RATE_LIMITED`.
    pub fn admit_key(&self, parts: &Parts, api_key_id: &str) -> Result<(), HttpProblem> {
        let key = api_key_id.to_owned();
        take(&self.0.keys, &key, "key", &parts.extensions)
    }

    /// Counts a request of a session of an API key. The length of the session's id must have been checked.
    ///
    /// # Errors
    /// 429 `RATE_LIMITED`.
    pub fn admit_session(
        &self,
        extensions: &Extensions,
        api_key_id: &str,
        session_id: &str,
    ) -> Result<(), HttpProblem> {
        let key = (api_key_id.to_owned(), session_id.to_owned());
        take(&self.0.sessions, &key, "session", extensions)
    }

    /// The client's address, as rate limits and quotas count it; `None` if the peer is unknown.
    #[must_use]
    pub fn address_of(&self, extensions: &Extensions, headers: &HeaderMap) -> Option<IpAddr> {
        let Peer(peer) = extensions.get()?;
        self.warn_of_missing_proxy(peer.ip(), headers);
        let client = client_address(peer.ip(), headers, &self.0.trusted_proxies);
        Some(address_key(client))
    }

    /// Counts a live stream of a client's address.
    ///
    /// # Errors
    /// 429 `TOO_MANY_STREAMS`.
    pub fn open_live_stream(&self, address: Option<IpAddr>) -> Result<CountedStream, HttpProblem> {
        let max = self.0.live_streams_max;
        self.0.live_streams.enter(address, max)
    }

    /// Logs the first one only: the settings do not change while the process runs.
    fn warn_of_missing_proxy(&self, peer: IpAddr, headers: &HeaderMap) {
        if self.0.is_proxy_warned.is_completed() || !is_missing_proxy(peer, headers, &self.0.trusted_proxies) {
            return;
        }
        self.0.is_proxy_warned.call_once(|| {
            tracing::warn!(
                %peer,
                "X-Forwarded-For from a private address that is not trusted: all its clients count as one; \
                 add the proxy to http.trusted_proxies"
            );
        });
    }

    /// Counts a request of a known service token. Back ends share addresses, so their requests do not count for the address.
    fn admit_service_token(&self, request: &Request, token_id: &str) -> Result<(), HttpProblem> {
        let key = format!("{SERVICE_TOKEN}{token_id}");
        take(&self.0.keys, &key, "key", request.extensions())
    }

    fn admit_address(&self, request: &Request) -> Result<(), HttpProblem> {
        let Some(key) = self.address_of(request.extensions(), request.headers()) else {
            return Ok(());
        };
        take(&self.0.addresses, &key, "address", request.extensions())
    }
}

/// The allowance of a request with the fewest remaining requests; the response contains it.
#[derive(Debug, Clone, Default)]
struct LowestAllowance(Arc<Mutex<Option<Allowance>>>);

impl LowestAllowance {
    fn note(&self, allowance: Allowance) {
        let mut lowest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lowest.is_none_or(|known| allowance.remaining < known.remaining) {
            *lowest = Some(allowance);
        }
    }

    fn get(&self) -> Option<Allowance> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn take<K: std::hash::Hash + Eq + Clone>(
    limiter: &Limiter<K>,
    key: &K,
    scope: &'static str,
    extensions: &Extensions,
) -> Result<(), HttpProblem> {
    let taken = limiter.take(key);
    if let Some(lowest) = extensions.get::<LowestAllowance>() {
        lowest.note(taken.unwrap_or_else(|exhausted| exhausted.allowance));
    }
    taken.map(drop).map_err(|exhausted| {
        counter!("gateway_http_rate_limited_total", "limit" => scope).increment(1);
        let detail = format!("too many requests of this {scope}: retry after the time in Retry-After");
        HttpProblem::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED", detail)
            .retry_after(exhausted.retry_after)
            .with("limit", scope)
    })
}

/// Counts the request for its service token, or else for its client's address. Adds the lowest allowance to the response. A
/// token that is not known to be valid counts for the address, so that guesses are limited.
pub async fn layer(State(admission): State<Admission>, mut request: Request, next: Next) -> Response {
    let lowest = LowestAllowance::default();
    request.extensions_mut().insert(lowest.clone());
    let Admission { limits, token_id } = admission;
    let admitted = match token_id(request.headers()) {
        Some(token_id) => limits.admit_service_token(&request, &token_id),
        None => limits.admit_address(&request),
    };
    let mut response = match admitted {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    if let Some(allowance) = lowest.get() {
        insert_headers(allowance, response.headers_mut());
    }
    response
}

fn insert_headers(allowance: Allowance, headers: &mut HeaderMap) {
    headers.insert(LIMIT, HeaderValue::from(allowance.limit));
    headers.insert(REMAINING, HeaderValue::from(allowance.remaining));
    headers.insert(RESET, HeaderValue::from(whole_seconds(allowance.full_after)));
}

fn whole_seconds(delay: Duration) -> u64 {
    delay.as_secs() + u64::from(delay.subsec_nanos() > 0)
}
