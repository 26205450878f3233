//! Root secrets of tenants, and the keys that are derived from them.
//!
//! A tenant has one root secret of 256 random bits. Callers get derived keys only; the key of one purpose reveals nothing about
//! the key of another. Writers create the secrets; gateways only read them.

use std::fmt;

use bytes::Bytes;
use domain::{TenantId, Timestamp};
use ring::hmac;
use wire::proto::operate::v1::TenantSecret;
use wire::time;

use crate::entry_keys::tenant_secret_key;
use crate::{PutOutcome, Registry};
use event_log::Unavailable;

/// Bytes of a root secret, and of a derived key.
pub const TENANT_KEY_BYTES: usize = 32;

/// The purpose of a derived key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyPurpose {
    /// Signing the sessions that the gateway issues.
    Session,
    /// Deriving the ids of histories from the keys of their callers.
    Channel,
    /// Signing links and sessions of the dashboard.
    Dashboard,
}

impl KeyPurpose {
    /// The label of the derivation. It never changes: signed and derived values outlive releases.
    fn label(self) -> &'static [u8] {
        match self {
            Self::Session => b"hansard/tenant/session",
            Self::Channel => b"hansard/tenant/channel",
            Self::Dashboard => b"hansard/tenant/dashboard",
        }
    }
}

/// A tenant's key for one purpose. Its `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct TenantKey([u8; TENANT_KEY_BYTES]);

impl TenantKey {
    /// HMAC-SHA256 of the purpose's label under the root secret (RFC 2104).
    fn derive(root: &[u8], purpose: KeyPurpose) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, root);
        let tag = hmac::sign(&key, purpose.label());
        let mut bytes = [0; TENANT_KEY_BYTES];
        bytes.copy_from_slice(tag.as_ref());
        Self(bytes)
    }

    /// The key's bytes. Never show or log them.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; TENANT_KEY_BYTES] {
        &self.0
    }
}

impl fmt::Debug for TenantKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TenantKey(..)")
    }
}

impl Registry {
    /// A tenant's key for one purpose, from memory; `None`: the tenant does not exist or has no root secret.
    #[must_use]
    pub fn tenant_key(&self, tenant: &TenantId, purpose: KeyPurpose) -> Option<TenantKey> {
        self.shared().read(|entries| {
            let entry = entries.tenant_secrets.get(tenant)?;
            Some(TenantKey::derive(&entry.value.root, purpose))
        })
    }

    /// Creates missing root secrets, of tenants of earlier versions. Writers call it when they start.
    ///
    /// # Errors
    /// [`Unavailable`]: call again; created secrets stay.
    pub async fn make_missing_tenant_secrets(&self, at: Timestamp) -> Result<(), Unavailable> {
        let missing: Vec<TenantId> = self.shared().read(|entries| {
            let tenants = entries.tenants.keys();
            let missing = tenants.filter(|tenant| !entries.tenant_secrets.contains_key(*tenant));
            missing.cloned().collect()
        });
        for tenant in missing {
            self.make_tenant_secret(&tenant, at).await?;
        }
        Ok(())
    }

    /// Creates a tenant's root secret, unless it has one.
    pub(crate) async fn make_tenant_secret(&self, tenant: &TenantId, at: Timestamp) -> Result<(), Unavailable> {
        let root: [u8; TENANT_KEY_BYTES] = rand::random();
        let created = TenantSecret {
            tenant_id: tenant.as_str().to_owned(),
            root: Bytes::copy_from_slice(&root),
            created_at: Some(time::to_proto(at)),
            sealed_root: Bytes::new(),
        };
        let key = tenant_secret_key(tenant);
        match self.shared().put_with_secrets(&key, created, None).await? {
            PutOutcome::Stored | PutOutcome::Superseded => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ_by_purpose_and_by_root() {
        let key = |root: u8, purpose| TenantKey::derive(&[root; TENANT_KEY_BYTES], purpose);
        assert_eq!(key(1, KeyPurpose::Session), key(1, KeyPurpose::Session));
        assert_ne!(key(1, KeyPurpose::Session), key(1, KeyPurpose::Channel));
        assert_ne!(key(1, KeyPurpose::Session), key(2, KeyPurpose::Session));
    }

    #[test]
    fn derived_keys_never_change() {
        let key = |purpose| hex::encode(TenantKey::derive(&[7; TENANT_KEY_BYTES], purpose).as_bytes());
        assert_eq!(key(KeyPurpose::Session), "5553505973ca44477e00363c0047421a3a752295a7cf64c4f84fe8da6e85f508");
        assert_eq!(key(KeyPurpose::Channel), "0020beca51cf6676e5d658bd4b115f51202db1378098fd8425d9028647208be3");
        assert_eq!(key(KeyPurpose::Dashboard), "e271705a1e3daea562dfc7a357deb0f752916149d76a8b22167478af68845a61");
    }

    #[test]
    fn a_key_is_not_printed() {
        let key = TenantKey::derive(&[7; TENANT_KEY_BYTES], KeyPurpose::Session);
        assert_eq!(format!("{key:?}"), "TenantKey(..)");
    }
}
