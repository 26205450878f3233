//! The OpenID provider that people of the dashboard sign in with: the authorization code flow with PKCE.
//!
//! [`Provider`] discovers the endpoints, exchanges codes and verifies ID tokens; [`Attempt`] is a sign-in in progress; [`people`]
//! maps claims to tenants and roles. Tokens of the provider are used once and not stored. Sources: OpenID Connect Core 1.0,
//! RFC 6749, RFC 7636, RFC 9700 (best current practice).

mod attempt;
pub mod config;
mod discovery;
mod exchange;
mod grants;

use std::time::Duration;

use ::identity::{IdTokenClaims, IdTokenRules, TokenError, verify_id_token};
use domain::{SigningKeyId, Timestamp};
use egress::Policy;
use models::{EgressClient, ModelsError};
use thiserror::Error;

use config::OidcSection;
use conversations::jwks::{CACHE_TTL, Jwks, REFETCH_INTERVAL_MIN};
use discovery::{Discovery, Endpoints};

pub use attempt::{Attempt, SECRET_BYTES};
pub use grants::people;

/// Timeout of one request to the provider.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of an answer of the provider, in bytes.
const ANSWER_BYTES_MAX: usize = 256 * 1024;
/// The path of the redirect URI.
const CALLBACK_PATH: &str = "/dashboard/sign-in/callback";
/// The name of the provider's keys in the cache.
const KEYS: &str = "oidc";

/// Why a sign-in at the provider failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ProviderError {
    /// The provider does not answer, or its answers cannot be read: try again.
    #[error("the provider does not answer")]
    Unavailable,
    /// The provider's answer is not of this attempt: start again.
    #[error("the answer of the provider is rejected")]
    Rejected,
}

/// The provider's answer to an attempt. No `Debug`: the code is a secret.
pub struct Callback<'a> {
    /// The code.
    pub code: &'a str,
    /// The issuer, if the provider names it (RFC 9207).
    pub issuer: Option<&'a str>,
}

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

    /// The settings.
    #[must_use]
    pub fn section(&self) -> &OidcSection {
        &self.section
    }

    /// The URL of the provider's sign-in for an attempt.
    ///
    /// # Errors
    /// [`ProviderError::Unavailable`].
    pub async fn sign_in_url(&self, attempt: &Attempt, now: Timestamp) -> Result<String, ProviderError> {
        let endpoints = self.endpoints(now).await?;
        let client = attempt::ClientOf {
            client_id: &self.section.client_id,
            redirect_uri: &self.redirect_uri(),
            scopes: &self.section.scopes,
        };
        let url = attempt.url(&endpoints.authorization_endpoint, client);
        Ok(url.ok_or(ProviderError::Unavailable)?.into())
    }

    /// The claims of the person of an attempt. The caller has compared the `state`.
    ///
    /// # Errors
    /// [`ProviderError`].
    pub async fn claims(
        &self,
        attempt: &Attempt,
        callback: Callback<'_>,
        now: Timestamp,
    ) -> Result<IdTokenClaims, ProviderError> {
        let endpoints = self.endpoints(now).await?;
        if callback.issuer.is_some_and(|issuer| issuer != endpoints.issuer) {
            return Err(ProviderError::Rejected);
        }
        let id_token = self.id_token(&endpoints, callback.code, &attempt.verifier).await?;
        self.verified(&id_token, &attempt.nonce, &endpoints, now).await
    }

    async fn endpoints(&self, now: Timestamp) -> Result<Endpoints, ProviderError> {
        let endpoints = self.discovery.endpoints(&self.client, now).await;
        endpoints.ok_or(ProviderError::Unavailable)
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
    ) -> Result<IdTokenClaims, ProviderError> {
        let rules = IdTokenRules { issuer: &endpoints.issuer, client_id: &self.section.client_id, nonce };
        let mut outcome = Err(TokenError::UnknownKey);
        for age_max in [CACHE_TTL, REFETCH_INTERVAL_MIN] {
            let keys = self
                .jwks
                .keys(&self.keys_id, &endpoints.jwks_uri, age_max, now)
                .await
                .ok_or(ProviderError::Unavailable)?;
            outcome = verify_id_token(id_token, &keys, rules, now);
            if !matches!(outcome, Err(TokenError::UnknownKey | TokenError::BadSignature)) {
                break;
            }
        }
        outcome.map_err(|error| {
            tracing::warn!(%error, "an ID token of the dashboard's provider is rejected");
            ProviderError::Rejected
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
