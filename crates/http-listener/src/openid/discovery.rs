//! The provider's endpoints, from its discovery document.
//!
//! Source: OpenID Connect Discovery 1.0.

use std::time::Duration;

use domain::Timestamp;
use models::EgressClient;
use reqwest::{Method, StatusCode};
use serde::Deserialize;
use tokio::sync::Mutex;

use super::{REQUEST_TIMEOUT, whole_body};

/// How long a document is used before it is fetched again.
const DISCOVERY_TTL: Duration = Duration::from_mins(10);

/// The used members of the document.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Endpoints {
    /// The issuer, as ID tokens name it.
    pub(super) issuer: String,
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    pub(super) jwks_uri: String,
}

/// The document of an issuer, once it is fetched.
#[derive(Debug)]
pub(super) struct Discovery {
    issuer: String,
    known: Mutex<Option<(Endpoints, Timestamp)>>,
}

impl Discovery {
    pub(super) fn new(issuer: &str) -> Self {
        Self { issuer: issuer.to_owned(), known: Mutex::new(None) }
    }

    /// The endpoints. While the provider does not answer, an old document is used.
    pub(super) async fn endpoints(&self, client: &EgressClient, now: Timestamp) -> Option<Endpoints> {
        let mut known = self.known.lock().await;
        let is_fresh = |fetched_at: &Timestamp| {
            let age = u64::try_from(now.0.saturating_sub(fetched_at.0));
            Duration::from_nanos(age.unwrap_or_default()) < DISCOVERY_TTL
        };
        if let Some((endpoints, _)) = known.as_ref().filter(|(_, at)| is_fresh(at)) {
            return Some(endpoints.clone());
        }
        if let Some(endpoints) = self.fetch(client).await {
            *known = Some((endpoints, now));
        } else {
            tracing::warn!("the discovery document of the dashboard's provider cannot be read");
        }
        known.as_ref().map(|(endpoints, _)| endpoints.clone())
    }

    /// A document of another issuer is rejected.
    async fn fetch(&self, client: &EgressClient) -> Option<Endpoints> {
        let issuer = self.issuer.trim_end_matches('/');
        let url = format!("{issuer}/.well-known/openid-configuration");
        let request = client.request(Method::GET, &url).ok()?;
        let answer = request.timeout(REQUEST_TIMEOUT).send().await.ok()?;
        if answer.status() != StatusCode::OK {
            return None;
        }
        let body = whole_body(answer).await?;
        let endpoints: Endpoints = serde_json::from_slice(&body).ok()?;
        (endpoints.issuer == self.issuer).then_some(endpoints)
    }
}
