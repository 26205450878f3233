//! Signing keys: by which the tokens of a tenant's users and administrators are checked.
//!
//! A secret of HS256 is kept sealed where there is a master key, else in clear: tokens cannot be checked without it. It is in
//! no answer and no `Debug`.

use std::sync::Arc;

use bytes::Bytes;
use domain::{SigningKeyId, TenantId, Timestamp};
use identity::{Key, KeyError};
use wire::proto::operate::v1::signing_key::Kind;
use wire::proto::operate::v1::{SigningKey, SigningKeyUse};
use wire::time;

use super::bucket::Change;
use super::entries::Held;
use super::entry_keys::signing_key_key;
use super::error::RegistryError;
use super::secret::{SIGNING_SECRET_PREFIX, Secret};
use super::urls::check_url;
use super::{CHANGES_MAX, Registry};
use crate::error::Unavailable;

/// Most valid keys of a tenant for one use: as many as are tried on a token without a `kid`.
pub const SIGNING_KEYS_MAX: usize = identity::KEYS_TRIED_MAX;

/// By what tokens are checked: valid by construction.
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
    /// As [`Key::hs256`].
    pub fn hs256(id: &SigningKeyId, secret: Bytes) -> Result<Self, KeyError> {
        Key::hs256(id, &secret)?;
        Ok(Self(Kind::Hs256Secret(secret)))
    }

    /// A JWK set.
    ///
    /// # Errors
    /// As [`identity::jwk_set`].
    pub fn jwks(id: &SigningKeyId, json: String) -> Result<Self, KeyError> {
        identity::jwk_set(id, &json)?;
        Ok(Self(Kind::JwksJson(json)))
    }

    /// The JWK set at a URL, which is not looked at yet.
    ///
    /// # Errors
    /// As [`check_url`].
    pub fn jwks_url(url: String) -> Result<Self, domain::Violation> {
        check_url(&url)?;
        Ok(Self(Kind::JwksUrl(url)))
    }
}

/// A signing key to add.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSigningKey {
    /// Whose it is.
    pub tenant: TenantId,
    /// Its id, unique in its tenant.
    pub id: SigningKeyId,
    /// Whose tokens it is for.
    pub key_use: SigningKeyUse,
    /// By what tokens are checked; `None`: HS256 by a new secret.
    pub material: Option<SigningMaterial>,
}

impl Registry {
    /// Adds a signing key. The secret is given where it was made here: its text's bytes are the key.
    ///
    /// The bound on their number is checked against memory: two who add at the same moment may pass it by one.
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
            return Err(RegistryError::TooMany {
                what: "signing keys for this use",
                max: SIGNING_KEYS_MAX,
            });
        }
        let (kind, secret) = new.material.map_or_else(generated, |given| (given.0, None));
        let made = SigningKey {
            signing_key_id: new.id.as_str().to_owned(),
            tenant_id: new.tenant.as_str().to_owned(),
            r#use: new.key_use.into(),
            created_at: Some(time::to_proto(at)),
            retired_at: None,
            kind: Some(kind),
            sealed_secret: Bytes::new(),
        };
        let key = signing_key_key(&new.tenant, &new.id);
        let answer = shown(&made);
        match self.shared().put_signing_key(&key, made, None).await? {
            Change::Made => Ok((answer, secret)),
            Change::Superseded => Err(RegistryError::AlreadyExists {
                what: "signing key",
            }),
        }
    }

    /// Ends a signing key at `from`; one that has ended at `now` keeps its time.
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
            let Some(Held { revision, value }) = self.held_signing_key(tenant, id) else {
                return Err(RegistryError::NotFound {
                    what: "signing key",
                });
            };
            if !is_valid(&value, now) {
                return Ok(shown(&value));
            }
            let ended = SigningKey {
                retired_at: Some(time::to_proto(from)),
                ..SigningKey::clone(&value)
            };
            let answer = shown(&ended);
            let put = self.shared().put_signing_key(&key, ended, Some(revision));
            if put.await? == Change::Made {
                return Ok(answer);
            }
        }
        Err(Unavailable::new("the signing key keeps changing").into())
    }

    /// Every signing key of a tenant, by id, retired ones among them, without their secrets.
    #[must_use]
    pub fn list_signing_keys(&self, tenant: &TenantId) -> Vec<SigningKey> {
        self.shared().read(|entries| {
            let theirs = entries.signing_keys.get(tenant).into_iter().flatten();
            theirs.map(|(_, held)| shown(&held.value)).collect()
        })
    }

    /// The keys of a tenant for one use that are valid now, by id, WITH their secrets: for checking tokens, never for answers.
    #[must_use]
    pub fn signing_keys(
        &self,
        tenant: &TenantId,
        key_use: SigningKeyUse,
        now: Timestamp,
    ) -> Vec<Arc<SigningKey>> {
        self.shared().read(|entries| {
            let theirs = entries.signing_keys.get(tenant).into_iter().flatten();
            let theirs = theirs.map(|(_, held)| &held.value);
            let valid = theirs.filter(|key| key.r#use() == key_use && is_valid(key, now));
            valid.map(Arc::clone).collect()
        })
    }

    fn held_signing_key(
        &self,
        tenant: &TenantId,
        id: &SigningKeyId,
    ) -> Option<Held<Arc<SigningKey>>> {
        self.shared()
            .read(|entries| entries.signing_keys.get(tenant)?.get(id).cloned())
    }
}

fn generated() -> (Kind, Option<Secret>) {
    let secret = Secret::generate(SIGNING_SECRET_PREFIX);
    let bytes = Bytes::copy_from_slice(secret.reveal().as_bytes());
    (Kind::Hs256Secret(bytes), Some(secret))
}

/// A time that cannot be read has come: in doubt a key is not valid.
fn is_valid(key: &SigningKey, now: Timestamp) -> bool {
    let ends = |retired_at| time::from_proto(retired_at).is_ok_and(|end| now < end);
    key.retired_at.is_none_or(ends)
}

/// As callers see it.
fn shown(key: &SigningKey) -> SigningKey {
    let kind = match &key.kind {
        Some(Kind::Hs256Secret(_)) => Some(Kind::Hs256Secret(Bytes::new())),
        kind => kind.clone(),
    };
    SigningKey {
        kind,
        sealed_secret: Bytes::new(),
        ..key.clone()
    }
}
