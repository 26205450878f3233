//! What tenants demand of the tokens of their users and administrators, and which of those are revoked.

use std::sync::Arc;
use std::time::Duration;

use domain::violation::check_text;
use domain::{TenantId, Timestamp, Violation, ViolationReason};
use identity::{LEEWAY, LIFETIME_MAX_DEFAULT, TokenRules, token_id_digest};
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::{RevokedToken, RevokedTokens, Tenant};
use wire::time;

use super::bucket::Change;
use super::entry_keys::{revoked_tokens_key, tenant_key};
use super::error::RegistryError;
use super::{CHANGES_MAX, Registry};
use crate::error::Unavailable;

/// Most bytes of an audience, an issuer, and a token's id.
pub const TOKEN_RULE_BYTES_MAX: usize = 256;
/// The longest life of a token that a tenant can allow, in seconds: a year.
pub const LIFETIME_SECONDS_MAX: u32 = 365 * 86_400;
/// Most revoked tokens of a tenant that have not expired.
pub const REVOKED_TOKENS_MAX: usize = 4_096;

/// Rules within their bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedTokenRules(proto::TokenRules);

impl CheckedTokenRules {
    /// Takes the rules if each is within its bound.
    ///
    /// # Errors
    /// The first that is not, with its name.
    pub fn parse(rules: proto::TokenRules) -> Result<Self, Violation> {
        check_text(&rules.audience, TOKEN_RULE_BYTES_MAX)
            .map_err(|violation| violation.within("audience"))?;
        check_text(&rules.issuer, TOKEN_RULE_BYTES_MAX)
            .map_err(|violation| violation.within("issuer"))?;
        let seconds = rules.lifetime_seconds_max;
        if seconds > LIFETIME_SECONDS_MAX {
            let rule = format!("is {seconds}, at most {LIFETIME_SECONDS_MAX} is taken");
            let violation = Violation::new(ViolationReason::OutOfRange, rule);
            return Err(violation.within("lifetime_seconds_max"));
        }
        Ok(Self(rules))
    }
}

impl Registry {
    /// Changes what a tenant demands of its tokens, again where others were faster.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] or [`RegistryError::Unavailable`]; what `change` says.
    pub async fn change_token_rules<E: From<RegistryError>>(
        &self,
        tenant: &TenantId,
        change: impl Fn(proto::TokenRules) -> Result<CheckedTokenRules, E>,
    ) -> Result<Tenant, E> {
        let key = tenant_key(tenant);
        for _ in 0..CHANGES_MAX {
            let shared = self.shared();
            let held = shared.read(|entries| entries.tenants.get(tenant).cloned());
            let Some(held) = held else {
                return Err(RegistryError::NotFound { what: "tenant" }.into());
            };
            let rules = change(held.value.token_rules.clone().unwrap_or_default())?;
            let changed = Tenant {
                token_rules: Some(rules.0),
                ..held.value
            };
            let put = shared.put(&key, &changed, Some(held.revision)).await;
            if put.map_err(RegistryError::from)? == Change::Made {
                return Ok(changed);
            }
        }
        Err(RegistryError::from(Unavailable::new("the tenant keeps changing")).into())
    }

    /// What a tenant demands of its tokens, with those that it has revoked.
    #[must_use]
    pub fn token_rules(&self, tenant: &TenantId) -> TokenRules {
        let (rules, revoked) = self.shared().read(|entries| {
            let held = entries.tenants.get(tenant);
            let rules = held.and_then(|held| held.value.token_rules.clone());
            let revoked = entries.revoked_tokens.get(tenant);
            (rules, revoked.map(|held| Arc::clone(&held.value.1)))
        });
        let rules = rules.unwrap_or_default();
        let given = |text: String| (!text.is_empty()).then_some(text);
        TokenRules {
            lifetime_max: lifetime_max(&rules),
            audience: given(rules.audience),
            issuer: given(rules.issuer),
            revoked: revoked.unwrap_or_default(),
        }
    }

    /// Revokes the token of a tenant's with this `jti`; until when that is kept. Expired ones are forgotten.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] without the tenant, [`RegistryError::TooMany`] past [`REVOKED_TOKENS_MAX`], or
    /// [`RegistryError::Unavailable`].
    pub async fn revoke_token(
        &self,
        tenant: &TenantId,
        token_id: &str,
        at: Timestamp,
    ) -> Result<Timestamp, RegistryError> {
        if !self.has_tenant(tenant).await {
            return Err(RegistryError::NotFound { what: "tenant" });
        }
        let kept_until = kept_until(self.token_rules(tenant).lifetime_max, at);
        let made = RevokedToken {
            token_id_sha256: token_id_digest(token_id).to_vec().into(),
            expires_at: Some(time::to_proto(kept_until)),
        };
        let key = revoked_tokens_key(tenant);
        for _ in 0..CHANGES_MAX {
            let shared = self.shared();
            let held = shared.read(|entries| entries.revoked_tokens.get(tenant).cloned());
            let (revision, current) = held.map(|held| (held.revision, held.value.0)).unzip();
            let revoked = RevokedTokens {
                tenant_id: tenant.as_str().to_owned(),
                tokens: with(current.unwrap_or_default().tokens, &made, at)?,
            };
            if shared.put(&key, &revoked, revision).await? == Change::Made {
                return Ok(kept_until);
            }
        }
        Err(Unavailable::new("the revoked tokens keep changing").into())
    }
}

fn lifetime_max(rules: &proto::TokenRules) -> Duration {
    match rules.lifetime_seconds_max {
        0 => LIFETIME_MAX_DEFAULT,
        seconds => Duration::from_secs(seconds.into()),
    }
}

/// A token that is let in now was made within the leeway ahead, and is let in for the leeway past its end.
fn kept_until(lifetime_max: Duration, at: Timestamp) -> Timestamp {
    let longest = lifetime_max + LEEWAY * 2;
    let nanos = i64::try_from(longest.as_nanos()).unwrap_or(i64::MAX);
    Timestamp(at.0.saturating_add(nanos))
}

/// The revoked tokens that have not expired, with one more.
fn with(
    current: Vec<RevokedToken>,
    made: &RevokedToken,
    at: Timestamp,
) -> Result<Vec<RevokedToken>, RegistryError> {
    let is_kept = |token: &RevokedToken| {
        let end = token.expires_at.map(time::from_proto);
        token.token_id_sha256 != made.token_id_sha256 && !matches!(end, Some(Ok(end)) if end <= at)
    };
    let mut tokens: Vec<RevokedToken> = current.into_iter().filter(is_kept).collect();
    if tokens.len() >= REVOKED_TOKENS_MAX {
        return Err(RegistryError::TooMany {
            what: "revoked tokens that have not expired",
            max: REVOKED_TOKENS_MAX,
        });
    }
    tokens.push(made.clone());
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(name: u32, expires_at: i64) -> RevokedToken {
        RevokedToken {
            token_id_sha256: name.to_be_bytes().to_vec().into(),
            expires_at: Some(time::to_proto(Timestamp(expires_at))),
        }
    }

    #[test]
    fn revoked_tokens_are_forgotten_once_they_have_expired() {
        let current = vec![token(1, 10), token(2, 11), token(3, 100)];
        let kept = with(current, &token(3, 200), Timestamp(10)).unwrap();
        assert_eq!(kept, [token(2, 11), token(3, 200)]);
    }

    #[test]
    fn revoked_tokens_at_their_bound_and_one_past() {
        let with_one = |count: usize| {
            let tokens = (0..u32::try_from(count).unwrap()).map(|name| token(name, 100));
            with(tokens.collect(), &token(u32::MAX, 100), Timestamp(1))
        };
        let fits = with_one(REVOKED_TOKENS_MAX - 1).unwrap();
        assert_eq!(fits.len(), REVOKED_TOKENS_MAX);
        let past = with_one(REVOKED_TOKENS_MAX);
        assert!(matches!(past, Err(RegistryError::TooMany { .. })));
    }

    #[test]
    fn rules_at_their_bounds_and_one_past() {
        let check = |bytes: usize, lifetime_seconds_max: u32, wrong: Option<&str>| {
            let rules = proto::TokenRules {
                audience: "a".repeat(bytes),
                issuer: String::new(),
                lifetime_seconds_max,
            };
            let wrong_field = CheckedTokenRules::parse(rules).err();
            assert_eq!(
                wrong_field.as_ref().map(|wrong| wrong.field.as_str()),
                wrong
            );
        };
        check(TOKEN_RULE_BYTES_MAX, LIFETIME_SECONDS_MAX, None);
        check(TOKEN_RULE_BYTES_MAX + 1, 0, Some("audience"));
        check(0, LIFETIME_SECONDS_MAX + 1, Some("lifetime_seconds_max"));
    }
}
