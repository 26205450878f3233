//! JWK sets by URL: fetched when a token needs one, and kept for a while.
//!
//! A set is fetched by one caller at a time. One that is old is used on for [`STALE`] while its server does not answer.
//! Where sets may be fetched from is decided by the deployment's [`egress::Policy`]; no redirect is followed.

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

/// How long a set is used without being fetched again.
pub const FRESH: Duration = Duration::from_mins(10);
/// How long a set is used while it cannot be fetched again.
pub const STALE: Duration = Duration::from_hours(1);
/// The least time between two fetches of a set that fail, or that an unknown key asks for.
pub const PAUSE: Duration = Duration::from_secs(10);
/// The longest time of a fetch.
pub const FETCH_TIMEOUT: Duration = Duration::from_secs(3);
/// Most sets that are kept; the least used go first.
pub const SETS_MAX: usize = 1_000;

/// The sets that were used lately, by the signing key that names them.
#[derive(Debug)]
pub struct Jwks {
    client: EgressClient,
    sets: Cache<(SigningKeyId, String), Arc<Mutex<Kept>>>,
}

#[derive(Debug, Default)]
struct Kept {
    keys: Option<(Arc<[Key]>, Timestamp)>,
    tried_at: Option<Timestamp>,
}

impl Kept {
    fn younger_than(&self, age_max: Duration, now: Timestamp) -> Option<Arc<[Key]>> {
        let (keys, fetched_at) = self.keys.as_ref()?;
        (age(*fetched_at, now) < age_max).then(|| Arc::clone(keys))
    }

    fn may_try(&self, now: Timestamp) -> bool {
        self.tried_at
            .is_none_or(|tried_at| age(tried_at, now) >= PAUSE)
    }
}

impl Jwks {
    /// No sets yet. They may be fetched from where `policy` allows.
    ///
    /// # Errors
    /// [`ModelsError::Tls`].
    pub fn new(policy: Policy) -> Result<Self, ModelsError> {
        Ok(Self {
            client: EgressClient::new(policy, FETCH_TIMEOUT)?,
            sets: Cache::new(SETS_MAX),
        })
    }

    /// The usable keys of the set at a URL, not older than `age_max` if its server answers; `None`: there are none to be had.
    ///
    /// `id` is the signing key that names the URL: keys without a name of their own are called by it.
    pub async fn keys(
        &self,
        id: &SigningKeyId,
        url: &str,
        age_max: Duration,
        now: Timestamp,
    ) -> Option<Arc<[Key]>> {
        let kept = (id.clone(), url.to_owned());
        let kept = self
            .sets
            .get_or_insert_with(&kept, || Ok::<_, Infallible>(Arc::default()));
        let Ok(kept) = kept;
        let mut kept = kept.lock().await;
        let young = kept.younger_than(age_max, now);
        if young.is_some() || !kept.may_try(now) {
            return young.or_else(|| kept.younger_than(STALE, now));
        }
        kept.tried_at = Some(now);
        let json = timeout(FETCH_TIMEOUT, self.fetch(url)).await;
        let keys = json.ok().flatten().map(|json| jwk_set(id, &json));
        if let Some(Ok(keys)) = keys {
            kept.keys = Some((keys.into(), now));
        } else {
            let is_answered = keys.is_some();
            tracing::warn!(signing_key.id = %id, is_answered, "no usable JWK set could be fetched");
        }
        kept.younger_than(STALE, now)
    }

    async fn fetch(&self, url: &str) -> Option<String> {
        let request = self.client.request(Method::GET, url).ok()?;
        let request = request.header(ACCEPT, HeaderValue::from_static("application/json"));
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

/// None, where the clock has gone back.
fn age(since: Timestamp, now: Timestamp) -> Duration {
    let nanos = u64::try_from(now.0.saturating_sub(since.0));
    Duration::from_nanos(nanos.unwrap_or(0))
}

#[cfg(test)]
mod tests;
