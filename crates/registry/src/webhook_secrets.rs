//! Secrets that sign the calls of an agent's webhooks. An agent has none until one is created.
//!
//! The newest secret signs, and the previous one too until its end, so that receivers can change over.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use domain::{AgentId, Timestamp};
use wire::proto::operate::v1::{WebhookSecret, WebhookSecrets};
use wire::time;

use crate::entry_keys::webhook_secrets_key;
use crate::{CHANGES_MAX, Entry, PutOutcome, Registry, RegistryError, Secret};
use event_log::Unavailable;

/// Maximum secrets of an agent: the newest and the previous one.
pub const WEBHOOK_SECRETS_MAX: usize = 2;
/// Prefix of a secret, as in Standard Webhooks.
const PREFIX: &str = "whsec_";
/// Bytes of a key: 256 bits.
const KEY_BYTES: usize = 32;

/// A key that signs webhook calls. Its `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookKey(Bytes);

impl WebhookKey {
    /// Creates a key from its bytes.
    #[must_use]
    pub fn new(bytes: Bytes) -> Self {
        Self(bytes)
    }

    /// The key's bytes. Never show or log them.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for WebhookKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookKey(..)")
    }
}

impl Registry {
    /// Creates a new secret for an agent's webhooks; the previous one ends after `overlap`.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] without the agent, or [`RegistryError::Unavailable`].
    pub async fn rotate_webhook_secret(
        &self,
        agent: &AgentId,
        overlap: Duration,
        at: Timestamp,
    ) -> Result<Secret, RegistryError> {
        let tenant = self.tenant_of(agent).await.ok_or(RegistryError::NotFound { what: "agent" })?;
        let key: [u8; KEY_BYTES] = rand::random();
        let created = WebhookSecret {
            key: Bytes::copy_from_slice(&key),
            created_at: Some(time::to_proto(at)),
            ends_at: None,
            sealed_key: Bytes::new(),
        };
        let entry = webhook_secrets_key(&tenant, agent);
        for _ in 0..CHANGES_MAX {
            let held = self.webhook_secrets_entry(agent);
            let (revision, current) = held.map(|held| (held.revision, held.value)).unzip();
            let rotated = rotated(current.unwrap_or_default().secrets, &created, overlap, at);
            let stored = WebhookSecrets {
                agent_id: agent.as_str().to_owned(),
                tenant_id: tenant.as_str().to_owned(),
                secrets: rotated,
            };
            let put = self.shared().put_with_secrets(&entry, stored, revision);
            if put.await? == PutOutcome::Stored {
                return Ok(Secret(format!("{PREFIX}{}", STANDARD.encode(key))));
            }
        }
        Err(Unavailable::new("the webhook secrets keep changing").into())
    }

    /// The valid keys for signing calls of an agent's webhooks, the newest first; empty without a secret.
    #[must_use]
    pub fn webhook_keys(&self, agent: &AgentId, now: Timestamp) -> Vec<WebhookKey> {
        let held = self.webhook_secrets_entry(agent);
        let secrets = held.map(|held| held.value.secrets).unwrap_or_default();
        let valid = secrets.into_iter().filter(|secret| is_valid(secret, now));
        valid.map(|secret| WebhookKey(secret.key)).collect()
    }

    fn webhook_secrets_entry(&self, agent: &AgentId) -> Option<Entry<WebhookSecrets>> {
        let shared = self.shared();
        shared.read(|entries| entries.webhook_secrets.get(agent).cloned())
    }
}

/// The new secret, then the newest valid one, which ends after `overlap` or sooner.
fn rotated(
    current: Vec<WebhookSecret>,
    created: &WebhookSecret,
    overlap: Duration,
    at: Timestamp,
) -> Vec<WebhookSecret> {
    let end = at.after(overlap);
    let ending = current.into_iter().filter(|secret| is_valid(secret, at)).map(|secret| {
        let ends_sooner = !is_valid(&secret, end);
        let ends_at = secret.ends_at.filter(|_| ends_sooner);
        WebhookSecret { ends_at: ends_at.or_else(|| Some(time::to_proto(end))), ..secret }
    });
    let secrets = std::iter::once(created.clone()).chain(ending);
    let valid = secrets.filter(|secret| is_valid(secret, at));
    valid.take(WEBHOOK_SECRETS_MAX).collect()
}

/// A secret with an invalid time is treated as ended.
fn is_valid(secret: &WebhookSecret, now: Timestamp) -> bool {
    let ends = |ends_at| time::from_proto(ends_at).is_ok_and(|end| now < end);
    secret.ends_at.is_none_or(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(name: u8) -> WebhookSecret {
        WebhookSecret { sealed_key: Bytes::new(), key: vec![name].into(), created_at: None, ends_at: None }
    }

    /// The names of the secrets that are valid at `at` seconds.
    fn names(secrets: &[WebhookSecret], at: i64) -> Vec<u8> {
        let now = Timestamp(at * 1_000_000_000);
        let valid = secrets.iter().filter(|secret| is_valid(secret, now));
        valid.map(|secret| secret.key[0]).collect()
    }

    fn rotate(current: &[WebhookSecret], name: u8, overlap_seconds: u64, at: i64) -> Vec<WebhookSecret> {
        let overlap = Duration::from_secs(overlap_seconds);
        let at = Timestamp(at * 1_000_000_000);
        rotated(current.to_vec(), &secret(name), overlap, at)
    }

    #[test]
    fn the_previous_secret_ends_after_the_overlap() {
        let first = rotate(&[], 1, 60, 0);
        assert_eq!(names(&first, 1_000_000), [1]);
        let second = rotate(&first, 2, 60, 100);
        assert_eq!(names(&second, 159), [2, 1]);
        assert_eq!(names(&second, 160), [2]);
        // A third within the overlap: the oldest is dropped at once, as two is the maximum.
        let third = rotate(&second, 3, 60, 110);
        assert_eq!(names(&third, 111), [3, 2]);
        assert_eq!(names(&third, 170), [3]);
        assert_eq!(names(&rotate(&third, 4, 0, 120), 120), [4]);
    }
}
