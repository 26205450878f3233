//! Signing in with OpenID Connect: the authorization code flow with PKCE.
//!
//! [`start_sign_in`] keeps state, nonce and PKCE verifier in a cookie and goes to the provider; [`finish_sign_in`] compares the
//! state, exchanges the code, verifies the ID token and maps its claims to tenants and roles ([`grants`]). Tokens of the
//! provider are used once and neither stored nor sent to the browser. Sources: OpenID Connect Core 1.0, RFC 6749, RFC 7636,
//! RFC 9700 (best current practice).

mod attempt;
mod attempt_cookie;
mod discovery;
mod exchange;
pub mod finish_sign_in;
mod grants;
pub mod start_sign_in;

use std::time::Duration;

use ::identity::{IdTokenClaims, IdTokenRules, TokenError, verify_id_token};
use axum::http::StatusCode;
use domain::{SigningKeyId, Timestamp};
use egress::Policy;
use models::{EgressClient, ModelsError};
use runtime::http::HttpProblem;

use crate::http::dashboard::config::OidcSection;
use crate::jwks::{CACHE_TTL, Jwks, REFETCH_INTERVAL_MIN};
use discovery::{Discovery, Endpoints};

/// Timeout of one request to the provider.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of an answer of the provider, in bytes.
const ANSWER_BYTES_MAX: usize = 256 * 1024;
/// The path of the redirect URI.
const CALLBACK_PATH: &str = "/dashboard/sign-in/callback";
/// The name of the provider's keys in the cache.
const KEYS: &str = "oidc";

/// The provider, with its discovered endpoints and its keys.
#[derive(Debug)]
pub struct Provider {
    section: OidcSection,
    client: EgressClient,
    discovery: Discovery,
    jwks: Jwks,
    keys_id: SigningKeyId,
}

impl Provider {
    /// The provider of these settings; `None`: none is configured.
    ///
    /// # Errors
    /// [`ModelsError::Tls`].
    pub fn new(section: &OidcSection, egress: &Policy) -> Result<Option<Self>, ModelsError> {
        let (Some(issuer), Ok(keys_id)) = (&section.issuer, SigningKeyId::parse(KEYS)) else {
            return Ok(None);
        };
        Ok(Some(Self {
            client: EgressClient::new(egress.clone(), REQUEST_TIMEOUT)?,
            discovery: Discovery::new(issuer),
            jwks: Jwks::new(egress.clone())?,
            keys_id,
            section: section.clone(),
        }))
    }

    /// The provider's endpoints.
    async fn endpoints(&self, now: Timestamp) -> Result<Endpoints, HttpProblem> {
        let endpoints = self.discovery.endpoints(&self.client, now).await;
        endpoints.ok_or_else(provider_unavailable)
    }

    /// Where the provider sends the browser back.
    fn redirect_uri(&self) -> String {
        let url = self.section.url.as_deref().unwrap_or_default();
        format!("{}{CALLBACK_PATH}", url.trim_end_matches('/'))
    }

    /// The claims of an ID token. If no cached key matches, the keys are fetched again: they may have been rotated.
    async fn verified(
        &self,
        id_token: &str,
        nonce: &str,
        endpoints: &Endpoints,
        now: Timestamp,
    ) -> Result<IdTokenClaims, HttpProblem> {
        let rules = IdTokenRules {
            issuer: &endpoints.issuer,
            client_id: &self.section.client_id,
            nonce,
        };
        let mut outcome = Err(TokenError::UnknownKey);
        for age_max in [CACHE_TTL, REFETCH_INTERVAL_MIN] {
            let keys = self
                .jwks
                .keys(&self.keys_id, &endpoints.jwks_uri, age_max, now);
            let keys = keys.await.ok_or_else(provider_unavailable)?;
            outcome = verify_id_token(id_token, &keys, rules, now);
            if !matches!(
                outcome,
                Err(TokenError::UnknownKey | TokenError::BadSignature)
            ) {
                break;
            }
        }
        outcome.map_err(|error| {
            tracing::warn!(%error, "an ID token of the dashboard's provider is rejected");
            sign_in_rejected()
        })
    }
}

/// A body within [`ANSWER_BYTES_MAX`].
async fn whole_body(mut answer: reqwest::Response) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(bytes) = answer.chunk().await.ok()? {
        if body.len() + bytes.len() > ANSWER_BYTES_MAX {
            return None;
        }
        body.extend_from_slice(&bytes);
    }
    Some(body)
}

fn provider_unavailable() -> HttpProblem {
    let detail =
        "the provider of the sign-in does not answer: try again, or ask an operator for a link";
    let status = StatusCode::SERVICE_UNAVAILABLE;
    HttpProblem::new(status, "PROVIDER_UNAVAILABLE", detail)
}

/// The attempt is unknown, or the provider's answer is invalid.
fn sign_in_rejected() -> HttpProblem {
    let detail = "the sign-in was not completed: start again. Only one sign-in at a time is possible in a browser";
    HttpProblem::new(StatusCode::UNAUTHORIZED, "SIGN_IN_REJECTED", detail)
}
