//! A cache of JWK sets by URL. A set is fetched when a token needs it.
//!
//! One caller at a time fetches a set. While its server does not answer, an old set is used until [`STALE_TTL`]. The
//! deployment's [`egress::Policy`] decides which URLs are allowed; redirects are not followed.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use ::identity::{JWKS_BYTES_MAX, Key, jwk_set};
use domain::{SigningKeyId, Timestamp};
use egress::Policy;
use models::{EgressClient, ModelsError};
use quick_cache::sync::Cache;
use reqwest::header::{ACCEPT, HeaderValue};
use reqwest::{Method, StatusCode};
use tokio::sync::Mutex;
use tokio::time::timeout;

/// How long a set is used before it is fetched again.
pub const CACHE_TTL: Duration = Duration::from_mins(10);
/// How long a set is used while fetching it fails.
pub const STALE_TTL: Duration = Duration::from_hours(1);
/// Minimum interval between two fetches of a set after a failure or for an unknown key.
pub const REFETCH_INTERVAL_MIN: Duration = Duration::from_secs(10);
/// Timeout of a fetch.
pub const FETCH_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum number of cached sets. The least used are evicted.
pub const SETS_MAX: usize = 1_000;

/// The cached sets, by signing key and URL.
#[derive(Debug)]
pub struct Jwks {
    client: EgressClient,
    sets: Cache<(SigningKeyId, String), Arc<Mutex<CachedSet>>>,
}

#[derive(Debug, Default)]
struct CachedSet {
    keys: Option<(Arc<[Key]>, Timestamp)>,
    tried_at: Option<Timestamp>,
}

impl CachedSet {
    fn younger_than(&self, age_max: Duration, now: Timestamp) -> Option<Arc<[Key]>> {
        let (keys, fetched_at) = self.keys.as_ref()?;
        (age(*fetched_at, now) < age_max).then(|| Arc::clone(keys))
    }

    fn may_fetch(&self, now: Timestamp) -> bool {
        self.tried_at.is_none_or(|tried_at| age(tried_at, now) >= REFETCH_INTERVAL_MIN)
    }
}

impl Jwks {
    /// An empty cache. Sets may be fetched from URLs that `policy` allows.
    ///
    /// # Errors
    /// [`ModelsError::Tls`].
    pub fn new(policy: Policy) -> Result<Self, ModelsError> {
        Ok(Self { client: EgressClient::new(policy, FETCH_TIMEOUT)?, sets: Cache::new(SETS_MAX) })
    }

    /// The usable keys of the set at a URL, not older than `age_max` if its server answers; `None`: no set is available.
    ///
    /// `id` is the signing key with the URL; keys of the set without a `kid` get this id.
    pub async fn keys(&self, id: &SigningKeyId, url: &str, age_max: Duration, now: Timestamp) -> Option<Arc<[Key]>> {
        let cache_key = (id.clone(), url.to_owned());
        let empty = || Ok::<_, Infallible>(Arc::default());
        let Ok(set) = self.sets.get_or_insert_with(&cache_key, empty);
        let mut set = set.lock().await;
        let fresh = set.younger_than(age_max, now);
        if fresh.is_some() || !set.may_fetch(now) {
            return fresh.or_else(|| set.younger_than(STALE_TTL, now));
        }
        set.tried_at = Some(now);
        let json = timeout(FETCH_TIMEOUT, self.fetch(url)).await;
        let keys = json.ok().flatten().map(|json| jwk_set(id, &json));
        if let Some(Ok(keys)) = keys {
            set.keys = Some((keys.into(), now));
        } else {
            let is_answered = keys.is_some();
            tracing::warn!(signing_key.id = %id, is_answered, "a JWK set could not be fetched, or has no usable key");
        }
        set.younger_than(STALE_TTL, now)
    }

    async fn fetch(&self, url: &str) -> Option<String> {
        let request =
            self.client.request(Method::GET, url).ok()?.header(ACCEPT, HeaderValue::from_static("application/json"));
        let mut response = request.send().await.ok()?;
        if response.status() != StatusCode::OK {
            return None;
        }
        let mut body = Vec::new();
        while let Some(bytes) = response.chunk().await.ok()? {
            if body.len() + bytes.len() > JWKS_BYTES_MAX {
                return None;
            }
            body.extend_from_slice(&bytes);
        }
        String::from_utf8(body).ok()
    }
}

/// The time since a timestamp; zero if the clock has gone back.
fn age(since: Timestamp, now: Timestamp) -> Duration {
    let nanos = u64::try_from(now.0.saturating_sub(since.0));
    Duration::from_nanos(nanos.unwrap_or(0))
}

#[cfg(test)]
mod tests;
