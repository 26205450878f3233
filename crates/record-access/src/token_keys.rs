//! Verifies tokens of users and administrators, with keys from the registry and from JWK sets.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use ::identity::{
    Key, TokenError, UserScope, VerifiedAdmin, VerifiedUser, claimed_tenant, jwk_set, verify_admin, verify_user,
};
use domain::{SigningKeyId, TenantAccess, TenantId, Timestamp};
use egress::Policy;
use models::ModelsError;
use quick_cache::sync::Cache;
use registry::{AgentAccess, Registry, UsedKey};
use wire::proto::operate::v1::signing_key::Kind;
use wire::proto::operate::v1::{SigningKey, SigningKeyUse};

use crate::identity::Refusal;
use crate::jwks::{CACHE_TTL, Jwks, REFETCH_INTERVAL_MIN};

/// Maximum number of cached signing keys. Parsing a key takes about as long as verifying a token.
pub const KEYS_READY_MAX: usize = 1_000;

/// The keys that verify tokens.
#[derive(Debug)]
pub struct TokenKeys {
    registry: Registry,
    jwks: Jwks,
    /// The content of a signing key never changes; only its end can be set.
    parsed: Cache<(TenantId, SigningKeyId), Arc<[Key]>>,
}

/// An administrator, and the right to act for their tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdminAccess {
    /// The right to act for the tenant.
    pub tenant: TenantAccess,
    /// The administrator.
    pub admin: VerifiedAdmin,
}

/// The keys of a tenant for one use.
#[derive(Debug, Default)]
struct TenantKeys {
    keys: Vec<Key>,
    /// Some keys are from fetched sets, which may have changed since.
    has_fetched: bool,
    /// Some sets could not be fetched.
    has_missing: bool,
}

impl TokenKeys {
    /// The keys of a registry. JWK sets are fetched from URLs that `egress` allows.
    ///
    /// # Errors
    /// [`ModelsError::Tls`].
    pub fn new(registry: &Registry, egress: Policy) -> Result<Self, ModelsError> {
        Ok(Self { registry: registry.clone(), jwks: Jwks::new(egress)?, parsed: Cache::new(KEYS_READY_MAX) })
    }

    /// Verifies the token of a user of an agent.
    ///
    /// # Errors
    /// The token is invalid, or [`Refusal::KeysUnavailable`].
    pub async fn user(&self, access: &AgentAccess, token: &str, now: Timestamp) -> Result<VerifiedUser, Refusal> {
        let rules = self.registry.token_rules(access.tenant.tenant());
        let scope = UserScope { tenant: access.tenant.tenant(), agent: &access.agent, rules: &rules };
        let verify = |keys: &[Key]| verify_user(token, keys, scope, now);
        let user = self.verify(scope.tenant, SigningKeyUse::User, now, verify).await?;
        self.registry.key_used(UsedKey::SigningKey(user.tenant().clone(), user.signing_key().clone()), now);
        Ok(user)
    }

    /// Verifies the token of an administrator. Returns the right to act for their tenant.
    ///
    /// # Errors
    /// The token is invalid, or [`Refusal::KeysUnavailable`]. A tenant that does not exist has no keys.
    pub async fn admin(&self, token: &str, now: Timestamp) -> Result<AdminAccess, Refusal> {
        let tenant = claimed_tenant(token)?;
        let rules = self.registry.token_rules(&tenant);
        let verify = |keys: &[Key]| verify_admin(token, keys, &tenant, &rules, now);
        let admin = self.verify(&tenant, SigningKeyUse::Admin, now, verify).await?;
        let granted = self.registry.grant_admin(&admin).await;
        let tenant = granted.ok_or(TokenError::UnknownKey)?;
        self.registry.key_used(UsedKey::SigningKey(admin.tenant().clone(), admin.signing_key().clone()), now);
        Ok(AdminAccess { tenant, admin })
    }

    /// Verifies with the cached keys. If none of them matches the token, fetches the sets again and retries: their keys may have
    /// changed.
    async fn verify<T>(
        &self,
        tenant: &TenantId,
        key_use: SigningKeyUse,
        now: Timestamp,
        verify: impl Fn(&[Key]) -> Result<T, TokenError>,
    ) -> Result<T, Refusal> {
        let found = self.keys(tenant, key_use, CACHE_TTL, now).await;
        let outcome = verify(&found.keys);
        if !has_no_matching_key(&outcome) || !(found.has_fetched || found.has_missing) {
            return Ok(outcome?);
        }
        let found = self.keys(tenant, key_use, REFETCH_INTERVAL_MIN, now).await;
        let outcome = verify(&found.keys);
        if has_no_matching_key(&outcome) && found.has_missing {
            return Err(Refusal::KeysUnavailable);
        }
        Ok(outcome?)
    }

    async fn keys(&self, tenant: &TenantId, key_use: SigningKeyUse, age_max: Duration, now: Timestamp) -> TenantKeys {
        let mut found = TenantKeys::default();
        for entry in self.registry.signing_keys(tenant, key_use, now) {
            let Ok(id) = SigningKeyId::parse(entry.signing_key_id.as_str()) else {
                continue;
            };
            let Some(Kind::JwksUrl(url)) = &entry.kind else {
                let parsed = self.parsed(tenant, &id, &entry);
                found.keys.extend(parsed.iter().cloned());
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

    fn parsed(&self, tenant: &TenantId, id: &SigningKeyId, entry: &SigningKey) -> Arc<[Key]> {
        let cache_key = (tenant.clone(), id.clone());
        let parse = || Ok::<_, Infallible>(parse(id, entry).into());
        let Ok(keys) = self.parsed.get_or_insert_with(&cache_key, parse);
        keys
    }
}

/// The keys of an entry. The registry has checked it, so it is readable.
fn parse(id: &SigningKeyId, entry: &SigningKey) -> Vec<Key> {
    match &entry.kind {
        Some(Kind::Hs256Secret(secret)) => Key::hs256(id, secret).into_iter().collect(),
        Some(Kind::JwksJson(json)) => jwk_set(id, json).unwrap_or_default(),
        Some(Kind::JwksUrl(_)) | None => Vec::new(),
    }
}

fn has_no_matching_key<T>(outcome: &Result<T, TokenError>) -> bool {
    matches!(outcome, Err(TokenError::UnknownKey | TokenError::BadSignature))
}
