//! Entries with secrets, which are encrypted if the process has a master key.

use bytes::Bytes;
use domain::Sequence;
use prost::Message;
use wire::proto::operate::v1::signing_key::Kind;
use wire::proto::operate::v1::{SigningKey, TenantSecret, WebhookSecrets};

use super::Shared;
use super::bucket::PutOutcome;
use crate::error::Unavailable;

/// An entry with secrets, each in plaintext or encrypted; the other field is empty.
pub(super) trait SecretEntry: Message + Default {
    /// The fields of each secret: plaintext, encrypted.
    fn secrets(&mut self) -> Vec<(&mut Bytes, &mut Bytes)>;
}

impl SecretEntry for TenantSecret {
    fn secrets(&mut self) -> Vec<(&mut Bytes, &mut Bytes)> {
        vec![(&mut self.root, &mut self.sealed_root)]
    }
}

impl SecretEntry for SigningKey {
    fn secrets(&mut self) -> Vec<(&mut Bytes, &mut Bytes)> {
        match &mut self.kind {
            Some(Kind::Hs256Secret(secret)) => vec![(secret, &mut self.sealed_secret)],
            Some(Kind::JwksJson(_) | Kind::JwksUrl(_)) | None => Vec::new(),
        }
    }
}

impl SecretEntry for WebhookSecrets {
    fn secrets(&mut self) -> Vec<(&mut Bytes, &mut Bytes)> {
        let secrets = self.secrets.iter_mut();
        let fields = secrets.map(|secret| (&mut secret.key, &mut secret.sealed_key));
        fields.collect()
    }
}

impl Shared {
    /// Puts an entry, whose secrets are in plaintext or encrypted.
    pub(super) async fn put_with_secrets(
        &self,
        key: &str,
        mut entry: impl SecretEntry,
        expected: Option<Sequence>,
    ) -> Result<PutOutcome, Unavailable> {
        let master = &self.record.config().master_keys;
        for (clear, sealed) in entry.secrets() {
            let secret = master.open_stored(key, clear, sealed)?;
            (*clear, *sealed) = master.to_stored(key, &secret)?;
        }
        self.put(key, &entry, expected).await
    }
}
