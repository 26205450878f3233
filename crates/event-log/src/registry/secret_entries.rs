//! Writes entries with a secret, which is encrypted if the process has a master key.

use bytes::Bytes;
use domain::Sequence;
use wire::proto::operate::v1::signing_key::Kind;
use wire::proto::operate::v1::{SigningKey, TenantSecret, WebhookSecrets};

use super::Shared;
use super::bucket::PutOutcome;
use crate::error::Unavailable;

impl Shared {
    /// Puts a tenant's root secret, given in plaintext or encrypted.
    pub(super) async fn put_tenant_secret(
        &self,
        entry: &str,
        secret: TenantSecret,
        expected: Option<Sequence>,
    ) -> Result<PutOutcome, Unavailable> {
        let (root, sealed_root) = self.sealed(entry, &secret.root, &secret.sealed_root)?;
        let put = TenantSecret {
            root,
            sealed_root,
            ..secret
        };
        self.put(entry, &put, expected).await
    }

    /// Puts a signing key, whose secret, if any, is in plaintext or encrypted.
    pub(super) async fn put_signing_key(
        &self,
        entry: &str,
        mut key: SigningKey,
        expected: Option<Sequence>,
    ) -> Result<PutOutcome, Unavailable> {
        if let Some(Kind::Hs256Secret(secret)) = &mut key.kind {
            (*secret, key.sealed_secret) = self.sealed(entry, secret, &key.sealed_secret)?;
        }
        self.put(entry, &key, expected).await
    }

    /// Puts the secrets of an agent's webhooks, each in plaintext or encrypted.
    pub(super) async fn put_webhook_secrets(
        &self,
        entry: &str,
        mut secrets: WebhookSecrets,
        expected: Option<Sequence>,
    ) -> Result<PutOutcome, Unavailable> {
        for secret in &mut secrets.secrets {
            (secret.key, secret.sealed_key) =
                self.sealed(entry, &secret.key, &secret.sealed_key)?;
        }
        self.put(entry, &secrets, expected).await
    }

    /// A secret as it is stored: plaintext or encrypted; the other field is empty.
    fn sealed(
        &self,
        entry: &str,
        clear: &Bytes,
        sealed: &Bytes,
    ) -> Result<(Bytes, Bytes), Unavailable> {
        let keys = &self.record.config().master_keys;
        let secret = if sealed.is_empty() {
            clear.clone()
        } else {
            keys.open(entry, sealed)?
        };
        Ok(match keys.seal(entry, &secret)? {
            Some(sealed) => (Bytes::new(), sealed),
            None => (secret, Bytes::new()),
        })
    }
}
