//! Tenants' rules for the tokens of users and administrators, and their revoked tokens and sessions.

use std::sync::Arc;
use std::time::Duration;

use domain::violation::check_text;
use domain::{SessionId, TenantId, Timestamp, Violation, ViolationReason};
use identity::{
    LEEWAY, LIFETIME_MAX_DEFAULT, RevocationDigest, SESSION_LIFETIME, TokenRules, session_digest, token_id_digest,
};
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::{RevokedToken, RevokedTokens, Tenant};
use wire::time;

use crate::entry_keys::revoked_tokens_key;
use crate::{CHANGES_MAX, PutOutcome, Registry, RegistryError};
use event_log::Unavailable;

/// Maximum bytes of an audience, an issuer and a token id.
pub const TOKEN_RULE_BYTES_MAX: usize = 256;
/// Maximum value of the token lifetime that a tenant allows, in seconds: one year.
pub const LIFETIME_SECONDS_MAX: u32 = 365 * 86_400;
/// Maximum unexpired revoked tokens and sessions of a tenant.
pub const REVOKED_TOKENS_MAX: usize = 4_096;

/// The time for which a process that lags may renew a revoked session.
const SESSION_RENEWAL_LAG: Duration = Duration::from_hours(24);

/// What is revoked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RevokedCredential {
    /// The tokens with this `jti`.
    TokenId(String),
    /// The token with this digest of [`identity::token_digest`], and its `exp` if that is known.
    Token(RevocationDigest, Option<Timestamp>),
    /// The issued session with this owner.
    Session(SessionId),
}

impl RevokedCredential {
    fn digest(&self) -> RevocationDigest {
        match self {
            Self::TokenId(id) => token_id_digest(id),
            Self::Token(digest, _) => *digest,
            Self::Session(owner) => session_digest(owner),
        }
    }

    /// Until when the revocation is kept: what is revoked has expired then.
    fn kept_until(&self, lifetime_max: Duration, at: Timestamp) -> Timestamp {
        // A token accepted now was issued at most the leeway in the future, and is accepted for the leeway after its end.
        let token = || at.after(lifetime_max + LEEWAY * 2);
        match self {
            Self::TokenId(_) => token(),
            Self::Token(_, expires_at) => {
                let end = expires_at.map(|end| end.after(LEEWAY));
                token().max(end.unwrap_or(at))
            }
            // It is not renewed any more, so it ends after one lifetime at most.
            Self::Session(_) => at.after(SESSION_LIFETIME + SESSION_RENEWAL_LAG),
        }
    }
}

/// Validated rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedTokenRules(proto::TokenRules);

impl CheckedTokenRules {
    /// Validates the rules.
    ///
    /// # Errors
    /// The first invalid rule, with its field.
    pub fn parse(rules: proto::TokenRules) -> Result<Self, Violation> {
        for (name, text) in [("audience", &rules.audience), ("issuer", &rules.issuer)] {
            check_text(text, TOKEN_RULE_BYTES_MAX).map_err(|violation| violation.within(name))?;
        }
        let seconds = rules.lifetime_seconds_max;
        if seconds > LIFETIME_SECONDS_MAX {
            let rule = format!("is {seconds}, but must be at most {LIFETIME_SECONDS_MAX}");
            let violation = Violation::new(ViolationReason::OutOfRange, rule);
            return Err(violation.within("lifetime_seconds_max"));
        }
        Ok(Self(rules))
    }
}

impl Registry {
    /// Changes a tenant's token rules; retries after a concurrent change.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`], [`RegistryError::Unavailable`], or the error of `change`.
    pub async fn change_token_rules<E: From<RegistryError>>(
        &self,
        tenant: &TenantId,
        change: impl Fn(proto::TokenRules) -> Result<CheckedTokenRules, E>,
    ) -> Result<Tenant, E> {
        let change = |tenant: &mut Tenant| {
            let current = tenant.token_rules.take().unwrap_or_default();
            tenant.token_rules = Some(change(current)?.0);
            Ok(())
        };
        self.change_tenant(tenant, change).await
    }

    /// A tenant's token rules and revoked tokens.
    #[must_use]
    pub fn token_rules(&self, tenant: &TenantId) -> TokenRules {
        let (rules, revoked) = self.shared().read(|entries| {
            let entry = entries.tenants.get(tenant);
            let rules = entry.and_then(|entry| entry.value.token_rules.clone());
            let revoked = entries.revoked_tokens.get(tenant);
            (rules, revoked.map(|entry| Arc::clone(&entry.value.digests)))
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

    /// Whether an issued session of a tenant was revoked. Answers from memory.
    #[must_use]
    pub fn is_session_revoked(&self, tenant: &TenantId, owner: &SessionId) -> bool {
        let revoked = self.shared().read(|entries| {
            let entry = entries.revoked_tokens.get(tenant)?;
            Some(Arc::clone(&entry.value.digests))
        });
        revoked.is_some_and(|digests| digests.contains(&session_digest(owner)))
    }

    /// Revokes a token or a session of a tenant; returns until when the revocation is stored. Drops expired revocations.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] without the tenant, [`RegistryError::TooMany`] past [`REVOKED_TOKENS_MAX`], or
    /// [`RegistryError::Unavailable`].
    pub async fn revoke(
        &self,
        tenant: &TenantId,
        revoked: &RevokedCredential,
        at: Timestamp,
    ) -> Result<Timestamp, RegistryError> {
        if !self.has_tenant(tenant).await {
            return Err(RegistryError::NotFound { what: "tenant" });
        }
        let kept_until = revoked.kept_until(self.token_rules(tenant).lifetime_max, at);
        self.revoke_until(tenant, revoked.digest(), kept_until, at).await?;
        Ok(kept_until)
    }

    /// Revokes what has a digest and keeps the revocation until a time. Returns whether this call revoked it: of concurrent calls
    /// for the same digest, one does.
    ///
    /// # Errors
    /// [`RegistryError::TooMany`] past [`REVOKED_TOKENS_MAX`], or [`RegistryError::Unavailable`].
    pub(crate) async fn revoke_until(
        &self,
        tenant: &TenantId,
        digest: RevocationDigest,
        kept_until: Timestamp,
        at: Timestamp,
    ) -> Result<bool, RegistryError> {
        let created =
            RevokedToken { token_id_sha256: digest.to_vec().into(), expires_at: Some(time::to_proto(kept_until)) };
        let key = revoked_tokens_key(tenant);
        for _ in 0..CHANGES_MAX {
            let shared = self.shared();
            let entry = shared.read(|entries| entries.revoked_tokens.get(tenant).cloned());
            let (revision, current) = entry.map(|entry| (entry.revision, entry.value.tokens.tokens)).unzip();
            let current = current.unwrap_or_default();
            let known_until = revoked_until(&current, &created.token_id_sha256);
            let was_revoked = known_until.is_some_and(|until| until > at);
            if was_revoked && known_until >= Some(kept_until) {
                return Ok(false);
            }
            let revoked = RevokedTokens { tenant_id: tenant.as_str().to_owned(), tokens: with(current, &created, at)? };
            if shared.put(&key, &revoked, revision).await? == PutOutcome::Stored {
                return Ok(!was_revoked);
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

/// Until when a token is revoked; `None`: it is not.
fn revoked_until(current: &[RevokedToken], digest: &[u8]) -> Option<Timestamp> {
    let mut same = current.iter().filter(|token| token.token_id_sha256 == digest);
    same.next()?.expires_at.map(time::from_proto)?.ok()
}

/// The unexpired revoked tokens and the new one.
fn with(current: Vec<RevokedToken>, created: &RevokedToken, at: Timestamp) -> Result<Vec<RevokedToken>, RegistryError> {
    let is_kept = |token: &RevokedToken| {
        let end = token.expires_at.map(time::from_proto);
        token.token_id_sha256 != created.token_id_sha256 && !matches!(end, Some(Ok(end)) if end <= at)
    };
    let mut tokens: Vec<RevokedToken> = current.into_iter().filter(is_kept).collect();
    if tokens.len() >= REVOKED_TOKENS_MAX {
        return Err(RegistryError::TooMany { what: "unexpired revoked tokens and sessions", max: REVOKED_TOKENS_MAX });
    }
    tokens.push(created.clone());
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
    fn revocations_are_kept_until_what_they_revoke_has_expired() {
        let day = Duration::from_hours(24);
        let after = |duration: Duration| Timestamp(i64::try_from(duration.as_nanos()).unwrap());
        let check = |revoked: RevokedCredential, expected: Duration| {
            assert_eq!(revoked.kept_until(day, Timestamp(0)), after(expected), "{revoked:?}");
        };
        let longest = day + LEEWAY * 2;
        check(RevokedCredential::TokenId("a".to_owned()), longest);
        check(RevokedCredential::Token([0; 32], None), longest);
        check(RevokedCredential::Token([0; 32], Some(Timestamp(0))), longest);
        // A token without `iat` that ends later is accepted once its end is near.
        check(RevokedCredential::Token([0; 32], Some(after(longest))), longest + LEEWAY);
        let session = SessionId::parse("issued:a").unwrap();
        check(RevokedCredential::Session(session), SESSION_LIFETIME + SESSION_RENEWAL_LAG);
    }

    #[test]
    fn rules_at_their_bounds_and_one_past() {
        let check = |bytes: usize, lifetime_seconds_max: u32, wrong: Option<&str>| {
            let rules = proto::TokenRules { audience: "a".repeat(bytes), issuer: String::new(), lifetime_seconds_max };
            let wrong_field = CheckedTokenRules::parse(rules).err().map(|wrong| wrong.field);
            assert_eq!(wrong_field, wrong.map(domain::FieldPath::from));
        };
        check(TOKEN_RULE_BYTES_MAX, LIFETIME_SECONDS_MAX, None);
        check(TOKEN_RULE_BYTES_MAX + 1, 0, Some("audience"));
        check(0, LIFETIME_SECONDS_MAX + 1, Some("lifetime_seconds_max"));
    }
}
