//! Encrypts the registry's secrets again with the current master key.

use event_log::seal::SealError;
use event_log::{BucketEntry, Unavailable};
use wire::proto::operate::v1::{SigningKey, TenantSecret, WebhookSecrets};

use crate::seals::SecretEntry;
use crate::{CHANGES_MAX, CONTENDED, PutOutcome, Registry, Shared};

impl Registry {
    /// Checks that the keys of this process decrypt every secret. Every role needs that.
    ///
    /// # Errors
    /// The first failure.
    pub fn check_secrets(&self) -> Result<(), SealError> {
        let failure = self.shared().read(|entries| entries.seals.failure());
        failure.map_or(Ok(()), Err)
    }

    /// The number of secrets in plaintext.
    #[must_use]
    pub fn count_plaintext_secrets(&self) -> usize {
        self.shared().read(|entries| entries.seals.plaintext_count())
    }

    /// Encrypts every secret with the registry's key, or else the current master key, unless it is already; returns how many were
    /// changed. Call it again after an interruption.
    ///
    /// # Errors
    /// [`Unavailable`], also without a current key, or when a secret is encrypted with an unknown key.
    pub async fn reseal(&self) -> Result<usize, Unavailable> {
        let shared = self.shared();
        if shared.record.registry_keys().current.is_none() {
            return Err(SealError::NoKey.into());
        }
        self.check_secrets()?;
        let stale = shared.read(|entries| entries.seals.stale());
        for entry in &stale {
            shared.reseal(entry).await?;
        }
        Ok(stale.len())
    }
}

impl Shared {
    async fn reseal(&self, entry: &str) -> Result<(), Unavailable> {
        for _ in 0..CHANGES_MAX {
            let Some(stored) = self.read_leader(entry).await? else {
                return Ok(());
            };
            let kind = entry.split_once('.').map_or(entry, |(kind, _)| kind);
            let put = match kind {
                "secret" => self.put_again::<TenantSecret>(entry, stored).await,
                "signing" => self.put_again::<SigningKey>(entry, stored).await,
                "webhook" => self.put_again::<WebhookSecrets>(entry, stored).await,
                _ => return Err(Unavailable::new("an entry holds no secret")),
            };
            if put? == PutOutcome::Stored {
                return Ok(());
            }
        }
        Err(CONTENDED)
    }

    async fn put_again<M: SecretEntry>(&self, entry: &str, stored: BucketEntry) -> Result<PutOutcome, Unavailable> {
        let unreadable = |_| Unavailable::new("an entry of the registry cannot be decoded");
        let decoded = M::decode(stored.value).map_err(unreadable)?;
        let expected = Some(stored.revision);
        self.put_with_secrets(entry, decoded, expected).await
    }
}
