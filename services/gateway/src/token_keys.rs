//! From a token to whom it names: the tenant's keys come from the registry, and from the JWK sets that it names.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use ::identity::{
    Key, TokenError, UserScope, VerifiedAdmin, VerifiedUser, claimed_tenant, jwk_set, verify_admin,
    verify_user,
};
use domain::{SigningKeyId, TenantAccess, TenantId, Timestamp};
use egress::Policy;
use event_log::Registry;
use event_log::registry::AgentAccess;
use models::ModelsError;
use quick_cache::sync::Cache;
use wire::proto::operate::v1::signing_key::Kind;
use wire::proto::operate::v1::{SigningKey, SigningKeyUse};

use crate::identity::Refusal;
use crate::jwks::{FRESH, Jwks, PAUSE};

/// Most signing keys that are kept ready; one that is not is read again, which takes about as long as checking a token.
pub const KEYS_READY_MAX: usize = 1_000;

/// The keys by which tokens are checked.
#[derive(Debug)]
pub struct TokenKeys {
    registry: Registry,
    jwks: Jwks,
    /// What a signing key holds never changes, but for its end.
    ready: Cache<(TenantId, SigningKeyId), Arc<[Key]>>,
}

/// An administrator, and leave to act for their tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdminAccess {
    /// The tenant, granted.
    pub tenant: TenantAccess,
    /// Who acts.
    pub admin: VerifiedAdmin,
}

/// The keys of a tenant for one use.
#[derive(Debug, Default)]
struct Found {
    keys: Vec<Key>,
    /// Some come from elsewhere, and may have changed since.
    has_fetched: bool,
    /// Some should have come from elsewhere.
    has_missing: bool,
}

impl TokenKeys {
    /// The keys of a registry; JWK sets are fetched from where `egress` allows.
    ///
    /// # Errors
    /// [`ModelsError::Tls`].
    pub fn new(registry: &Registry, egress: Policy) -> Result<Self, ModelsError> {
        Ok(Self {
            registry: registry.clone(),
            jwks: Jwks::new(egress)?,
            ready: Cache::new(KEYS_READY_MAX),
        })
    }

    /// The user that a token names, to an agent.
    ///
    /// # Errors
    /// The token does not hold, or [`Refusal::KeysUnavailable`].
    pub async fn user(
        &self,
        access: &AgentAccess,
        token: &str,
        now: Timestamp,
    ) -> Result<VerifiedUser, Refusal> {
        let rules = self.registry.token_rules(access.tenant.tenant());
        let scope = UserScope {
            tenant: access.tenant.tenant(),
            agent: &access.agent,
            rules: &rules,
        };
        let verify = |keys: &[Key]| verify_user(token, keys, scope, now);
        self.verify(scope.tenant, SigningKeyUse::User, now, verify)
            .await
    }

    /// The administrator that a token names, with leave to act for their tenant.
    ///
    /// # Errors
    /// The token does not hold, or [`Refusal::KeysUnavailable`]. A tenant that does not exist has no keys.
    pub async fn admin(&self, token: &str, now: Timestamp) -> Result<AdminAccess, Refusal> {
        let tenant = claimed_tenant(token)?;
        let rules = self.registry.token_rules(&tenant);
        let verify = |keys: &[Key]| verify_admin(token, keys, &tenant, &rules, now);
        let admin = self
            .verify(&tenant, SigningKeyUse::Admin, now, verify)
            .await?;
        let granted = self.registry.grant_admin(&admin).await;
        let tenant = granted.ok_or(TokenError::UnknownKey)?;
        Ok(AdminAccess { tenant, admin })
    }

    /// Verifies by the keys at hand; where none of them is the token's, by sets fetched anew, for their keys may have changed.
    async fn verify<T>(
        &self,
        tenant: &TenantId,
        key_use: SigningKeyUse,
        now: Timestamp,
        verify: impl Fn(&[Key]) -> Result<T, TokenError>,
    ) -> Result<T, Refusal> {
        let found = self.find(tenant, key_use, FRESH, now).await;
        let outcome = verify(&found.keys);
        if !is_of_the_key(&outcome) || !(found.has_fetched || found.has_missing) {
            return Ok(outcome?);
        }
        let found = self.find(tenant, key_use, PAUSE, now).await;
        let outcome = verify(&found.keys);
        if is_of_the_key(&outcome) && found.has_missing {
            return Err(Refusal::KeysUnavailable);
        }
        Ok(outcome?)
    }

    async fn find(
        &self,
        tenant: &TenantId,
        key_use: SigningKeyUse,
        age_max: Duration,
        now: Timestamp,
    ) -> Found {
        let mut found = Found::default();
        for entry in self.registry.signing_keys(tenant, key_use, now) {
            let Ok(id) = SigningKeyId::parse(entry.signing_key_id.as_str()) else {
                continue;
            };
            let Some(Kind::JwksUrl(url)) = &entry.kind else {
                found
                    .keys
                    .extend(self.ready(tenant, &id, &entry).iter().cloned());
                continue;
            };
            match self.jwks.keys(&id, url, age_max, now).await {
                Some(keys) => {
                    found.has_fetched = true;
                    found.keys.extend(keys.iter().cloned());
                }
                None => found.has_missing = true,
            }
        }
        found
    }

    fn ready(&self, tenant: &TenantId, id: &SigningKeyId, entry: &SigningKey) -> Arc<[Key]> {
        let place = (tenant.clone(), id.clone());
        let read = || Ok::<_, Infallible>(read(id, entry).into());
        let Ok(keys) = self.ready.get_or_insert_with(&place, read);
        keys
    }
}

/// The keys of an entry; what was checked when it was added is readable.
fn read(id: &SigningKeyId, entry: &SigningKey) -> Vec<Key> {
    match &entry.kind {
        Some(Kind::Hs256Secret(secret)) => Key::hs256(id, secret).into_iter().collect(),
        Some(Kind::JwksJson(json)) => jwk_set(id, json).unwrap_or_default(),
        Some(Kind::JwksUrl(_)) | None => Vec::new(),
    }
}

fn is_of_the_key<T>(outcome: &Result<T, TokenError>) -> bool {
    matches!(
        outcome,
        Err(TokenError::UnknownKey | TokenError::BadSignature)
    )
}
