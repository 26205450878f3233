//! How often who may ask: rates of API keys, of sessions and of client addresses.

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

use super::client_address::{client_address, is_forgotten_proxy};
use super::config::HttpSection;
use super::limiter::{Allowance, Limiter};

/// How many requests may follow at once, of how many, and in how many seconds all of them again.
const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// The rates of one gateway; each gateway counts for itself. Clones share it.
#[derive(Debug, Clone)]
pub struct RateLimits(Arc<Limiters>);

#[derive(Debug)]
struct Limiters {
    keys: Limiter<String>,
    sessions: Limiter<(String, String)>,
    addresses: Limiter<IpAddr>,
    trusted_proxies: Vec<IpNet>,
    warned_of_proxy: Once,
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
            trusted_proxies: section.trusted_proxies.clone(),
            warned_of_proxy: Once::new(),
        }))
    }

    /// Counts a request of an API key, once it is known.
    ///
    /// # Errors
    /// 429 `RATE_LIMITED`.
    pub fn admit_key(&self, parts: &Parts, api_key_id: &str) -> Result<(), HttpProblem> {
        let key = api_key_id.to_owned();
        judge(&self.0.keys, &key, "key", &parts.extensions)
    }

    /// Counts a request of a session of an API key, once it is known; the session's id must be bounded already.
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
        judge(&self.0.sessions, &key, "session", extensions)
    }

    /// The client's address, as rates and quotas count it; none where the peer is not known.
    #[must_use]
    pub fn address_of(&self, extensions: &Extensions, headers: &HeaderMap) -> Option<IpAddr> {
        let Peer(peer) = extensions.get()?;
        self.warn_of_forgotten_proxy(peer.ip(), headers);
        let client = client_address(peer.ip(), headers, &self.0.trusted_proxies);
        Some(address_key(client))
    }

    /// Logs the first of them: the settings do not change while the process runs.
    fn warn_of_forgotten_proxy(&self, peer: IpAddr, headers: &HeaderMap) {
        if self.0.warned_of_proxy.is_completed()
            || !is_forgotten_proxy(peer, headers, &self.0.trusted_proxies)
        {
            return;
        }
        self.0.warned_of_proxy.call_once(|| {
            tracing::warn!(
                %peer,
                "X-Forwarded-For from a private address that is not trusted: all its clients count as one; \
                 add the proxy to http.trusted_proxies"
            );
        });
    }

    fn admit_address(&self, request: &Request) -> Result<(), HttpProblem> {
        let Some(key) = self.address_of(request.extensions(), request.headers()) else {
            return Ok(());
        };
        judge(&self.0.addresses, &key, "address", request.extensions())
    }
}

/// The tightest of the allowances of a request, which its answer tells.
#[derive(Debug, Clone, Default)]
struct Tightest(Arc<Mutex<Option<Allowance>>>);

impl Tightest {
    fn note(&self, allowance: Allowance) {
        let mut tightest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if tightest.is_none_or(|known| allowance.remaining < known.remaining) {
            *tightest = Some(allowance);
        }
    }

    fn get(&self) -> Option<Allowance> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn judge<K: std::hash::Hash + Eq + Clone>(
    limiter: &Limiter<K>,
    key: &K,
    whose: &'static str,
    extensions: &Extensions,
) -> Result<(), HttpProblem> {
    let taken = limiter.take(key);
    if let Some(tightest) = extensions.get::<Tightest>() {
        tightest.note(taken.unwrap_or_else(|exhausted| exhausted.allowance));
    }
    taken.map(drop).map_err(|exhausted| {
        counter!("gateway_http_rate_limited_total", "limit" => whose).increment(1);
        let detail = format!("too many requests of this {whose}: wait as Retry-After says");
        HttpProblem::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED", detail)
            .retry_after(exhausted.retry_after)
            .with("limit", whose)
    })
}

/// Counts the request of its client's address, and tells what is left of the tightest bucket.
pub(super) async fn layer(
    State(limits): State<RateLimits>,
    mut request: Request,
    next: Next,
) -> Response {
    let tightest = Tightest::default();
    request.extensions_mut().insert(tightest.clone());
    let mut response = match limits.admit_address(&request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    if let Some(allowance) = tightest.get() {
        tell(allowance, response.headers_mut());
    }
    response
}

fn tell(allowance: Allowance, headers: &mut HeaderMap) {
    headers.insert(LIMIT, HeaderValue::from(allowance.limit));
    headers.insert(REMAINING, HeaderValue::from(allowance.remaining));
    headers.insert(
        RESET,
        HeaderValue::from(whole_seconds(allowance.full_after)),
    );
}

fn whole_seconds(delay: Duration) -> u64 {
    delay.as_secs() + u64::from(delay.subsec_nanos() > 0)
}
