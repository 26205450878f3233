//! Signing keys, which verify the tokens of a tenant's users and administrators.
//!
//! A secret of HS256 is stored encrypted if there is a master key, else in plaintext, because tokens cannot be verified
//! without it. It is in no reply and no `Debug`.

use std::sync::Arc;

use bytes::Bytes;
use domain::{SigningKeyId, TenantId, Timestamp};
use identity::{Key, KeyError};
use wire::proto::operate::v1::signing_key::Kind;
use wire::proto::operate::v1::{SigningKey, SigningKeyUse};
use wire::time;

use crate::entry_keys::signing_key_key;
use crate::secret::SIGNING_SECRET_PREFIX;
use crate::{CHANGES_MAX, Entry, PutOutcome, Registry, RegistryError, Secret, check_url};
use event_log::Unavailable;

/// Maximum valid keys of a tenant for one use: as many as are tried on a token without a `kid`.
pub const SIGNING_KEYS_MAX: usize = identity::KEYS_TRIED_MAX;

/// The kind of entry in errors.
const KIND: &str = "signing key";

/// Validated key material that verifies tokens.
#[derive(Clone, PartialEq)]
pub struct SigningMaterial(Kind);

// Secrets must not be printed.
impl std::fmt::Debug for SigningMaterial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningMaterial(..)")
    }
}

impl SigningMaterial {
    /// A secret of HS256.
    ///
    /// # Errors
    /// Same as [`Key::hs256`].
    pub fn hs256(id: &SigningKeyId, secret: Bytes) -> Result<Self, KeyError> {
        Key::hs256(id, &secret)?;
        Ok(Self(Kind::Hs256Secret(secret)))
    }

    /// A JWK set.
    ///
    /// # Errors
    /// Same as [`identity::jwk_set`].
    pub fn jwks(id: &SigningKeyId, json: String) -> Result<Self, KeyError> {
        identity::jwk_set(id, &json)?;
        Ok(Self(Kind::JwksJson(json)))
    }

    /// The JWK set at a URL, which is not fetched yet.
    ///
    /// # Errors
    /// Same as [`check_url`].
    pub fn jwks_url(url: String) -> Result<Self, domain::Violation> {
        check_url(&url)?;
        Ok(Self(Kind::JwksUrl(url)))
    }
}

/// A signing key to add.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSigningKey {
    /// Its tenant.
    pub tenant: TenantId,
    /// Its id, unique in its tenant.
    pub id: SigningKeyId,
    /// Whether it verifies tokens of users or of administrators.
    pub key_use: SigningKeyUse,
    /// The key material; `None`: HS256 with a new secret.
    pub material: Option<SigningMaterial>,
    /// When it expires; `None`: never.
    pub expires_at: Option<Timestamp>,
}

impl Registry {
    /// Adds a signing key. A generated secret is returned: the bytes of its text are the key.
    ///
    /// The maximum number is checked in memory: two concurrent calls can exceed it by one.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] without the tenant, [`RegistryError::AlreadyExists`], [`RegistryError::TooMany`] past
    /// [`SIGNING_KEYS_MAX`], or [`RegistryError::Unavailable`].
    pub async fn add_signing_key(
        &self,
        new: NewSigningKey,
        at: Timestamp,
    ) -> Result<(SigningKey, Option<Secret>), RegistryError> {
        if !self.has_tenant(&new.tenant).await {
            return Err(RegistryError::NotFound { what: "tenant" });
        }
        if self.signing_keys(&new.tenant, new.key_use, at).len() >= SIGNING_KEYS_MAX {
            return Err(RegistryError::TooMany { what: "signing keys for this use", max: SIGNING_KEYS_MAX });
        }
        let (kind, secret) = new.material.map_or_else(generated, |given| (given.0, None));
        let created = SigningKey {
            signing_key_id: new.id.as_str().to_owned(),
            tenant_id: new.tenant.as_str().to_owned(),
            r#use: new.key_use.into(),
            created_at: Some(time::to_proto(at)),
            retired_at: None,
            kind: Some(kind),
            sealed_secret: Bytes::new(),
            expires_at: new.expires_at.map(time::to_proto),
            last_used_at: None,
        };
        let key = signing_key_key(&new.tenant, &new.id);
        let answer = without_secret(&created);
        match self.shared().put_with_secrets(&key, created, None).await? {
            PutOutcome::Stored => Ok((answer, secret)),
            PutOutcome::Superseded => Err(RegistryError::AlreadyExists { what: KIND }),
        }
    }

    /// Retires a signing key at `from`; a key that is retired at `now` keeps its time.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] or [`RegistryError::Unavailable`].
    pub async fn retire_signing_key(
        &self,
        tenant: &TenantId,
        id: &SigningKeyId,
        from: Timestamp,
        now: Timestamp,
    ) -> Result<SigningKey, RegistryError> {
        let key = signing_key_key(tenant, id);
        for _ in 0..CHANGES_MAX {
            let Some(Entry { revision, value }) = self.signing_key_entry(tenant, id) else {
                return Err(RegistryError::NotFound { what: KIND });
            };
            if has_passed(value.retired_at, now) {
                return Ok(without_secret(&value));
            }
            let ended = SigningKey { retired_at: Some(time::to_proto(from)), ..SigningKey::clone(&value) };
            let answer = without_secret(&ended);
            let put = self.shared().put_with_secrets(&key, ended, Some(revision));
            if put.await? == PutOutcome::Stored {
                return Ok(answer);
            }
        }
        Err(Unavailable::new("the signing key keeps changing").into())
    }

    /// All signing keys of a tenant, by id, including retired ones, without their secrets.
    #[must_use]
    pub fn list_signing_keys(&self, tenant: &TenantId) -> Vec<SigningKey> {
        self.shared().read(|entries| {
            let of_tenant = entries.signing_keys.get(tenant).into_iter().flatten();
            of_tenant.map(|(_, entry)| without_secret(&entry.value)).collect()
        })
    }

    /// The valid keys of a tenant for one use, by id, WITH their secrets: for verification, never for replies.
    #[must_use]
    pub fn signing_keys(&self, tenant: &TenantId, key_use: SigningKeyUse, now: Timestamp) -> Vec<Arc<SigningKey>> {
        self.shared().read(|entries| {
            let of_tenant = entries.signing_keys.get(tenant).into_iter().flatten().map(|(_, entry)| &entry.value);
            let valid = of_tenant.filter(|key| key.r#use() == key_use && is_valid(key, now));
            valid.map(Arc::clone).collect()
        })
    }

    fn signing_key_entry(&self, tenant: &TenantId, id: &SigningKeyId) -> Option<Entry<Arc<SigningKey>>> {
        self.shared().read(|entries| entries.signing_keys.get(tenant)?.get(id).cloned())
    }
}

fn generated() -> (Kind, Option<Secret>) {
    let secret = Secret::generate(SIGNING_SECRET_PREFIX);
    let bytes = Bytes::copy_from_slice(secret.reveal().as_bytes());
    (Kind::Hs256Secret(bytes), Some(secret))
}

/// A key with an invalid time is treated as ended.
fn is_valid(key: &SigningKey, now: Timestamp) -> bool {
    !has_passed(key.retired_at, now) && !has_passed(key.expires_at, now)
}

fn has_passed(end: Option<prost_types::Timestamp>, now: Timestamp) -> bool {
    end.is_some_and(|end| time::from_proto(end).map_or(true, |end| end <= now))
}

/// Removes the secret, which callers must not see.
fn without_secret(key: &SigningKey) -> SigningKey {
    let kind = match &key.kind {
        Some(Kind::Hs256Secret(_)) => Some(Kind::Hs256Secret(Bytes::new())),
        kind => kind.clone(),
    };
    SigningKey { kind, sealed_secret: Bytes::new(), ..key.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_end_when_they_expire_or_are_retired() {
        let check = |retired_at: Option<i64>, expires_at: Option<i64>, expected: bool| {
            let at = |seconds| prost_types::Timestamp { seconds, nanos: 0 };
            let key =
                SigningKey { retired_at: retired_at.map(at), expires_at: expires_at.map(at), ..SigningKey::default() };
            assert_eq!(is_valid(&key, Timestamp(5_000_000_000)), expected, "{retired_at:?}, {expires_at:?}");
        };
        check(None, None, true);
        check(None, Some(6), true);
        check(None, Some(5), false);
        check(Some(6), Some(6), true);
        check(Some(5), Some(6), false);
        check(Some(6), Some(5), false);
        check(None, Some(i64::MAX), false);
    }
}
