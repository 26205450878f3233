//! The secrets by which the calls of an agent's webhooks are signed. An agent has none until one is made.
//!
//! The newest signs, and the one before too for as long as its end has not come: receivers change over meanwhile.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use domain::{AgentId, TenantId, Timestamp};
use wire::proto::operate::v1::{WebhookSecret, WebhookSecrets};
use wire::time;

use super::bucket::Change;
use super::entries::Held;
use super::entry_keys::webhook_secrets_key;
use super::error::RegistryError;
use super::secret::Secret;
use super::{CHANGES_MAX, Registry};
use crate::error::Unavailable;

/// Most secrets of an agent: the newest, and the one before.
pub const WEBHOOK_SECRETS_MAX: usize = 2;
/// What a secret begins with, as Standard Webhooks has it.
const PREFIX: &str = "whsec_";
/// Bytes of a key: 256 bits.
const KEY_BYTES: usize = 32;

/// A key that signs calls of webhooks. Its `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookKey(Bytes);

impl WebhookKey {
    /// A key of these bytes.
    #[must_use]
    pub fn new(bytes: Bytes) -> Self {
        Self(bytes)
    }

    /// The key's bytes. Never to be shown or logged.
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
    /// Makes a new secret for the calls of an agent's webhooks; the one before ends after `overlap`.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] without the agent, or [`RegistryError::Unavailable`].
    pub async fn rotate_webhook_secret(
        &self,
        agent: &AgentId,
        overlap: Duration,
        at: Timestamp,
    ) -> Result<Secret, RegistryError> {
        let tenant = self.tenant_of(agent).await;
        let tenant = tenant.ok_or(RegistryError::NotFound { what: "agent" })?;
        let key: [u8; KEY_BYTES] = rand::random();
        let made = WebhookSecret {
            key: Bytes::copy_from_slice(&key),
            created_at: Some(time::to_proto(at)),
            ends_at: None,
            sealed_key: Bytes::new(),
        };
        let entry = webhook_secrets_key(&tenant, agent);
        for _ in 0..CHANGES_MAX {
            let held = self.held_webhook_secrets(agent);
            let (revision, current) = held.map(|held| (held.revision, held.value)).unzip();
            let rotated = rotated(current.unwrap_or_default().secrets, &made, overlap, at);
            if self
                .put_webhook_secrets(&entry, &tenant, agent, rotated, revision)
                .await?
                == Change::Made
            {
                return Ok(Secret::of_text(format!("{PREFIX}{}", STANDARD.encode(key))));
            }
        }
        Err(Unavailable::new("the webhooks' secrets keep changing").into())
    }

    /// The keys by which calls of an agent's webhooks are signed now, the newest first; none where no secret was made.
    #[must_use]
    pub fn webhook_keys(&self, agent: &AgentId, now: Timestamp) -> Vec<WebhookKey> {
        let held = self.held_webhook_secrets(agent);
        let secrets = held.map(|held| held.value.secrets).unwrap_or_default();
        let valid = secrets.into_iter().filter(|secret| is_valid(secret, now));
        valid.map(|secret| WebhookKey(secret.key)).collect()
    }

    /// The only place where these secrets are written.
    async fn put_webhook_secrets(
        &self,
        entry: &str,
        tenant: &TenantId,
        agent: &AgentId,
        secrets: Vec<WebhookSecret>,
        expected: Option<domain::Sequence>,
    ) -> Result<Change, Unavailable> {
        let stored = WebhookSecrets {
            agent_id: agent.as_str().to_owned(),
            tenant_id: tenant.as_str().to_owned(),
            secrets,
        };
        let shared = self.shared();
        shared.put_webhook_secrets(entry, stored, expected).await
    }

    /// The only place where they are read.
    fn held_webhook_secrets(&self, agent: &AgentId) -> Option<Held<WebhookSecrets>> {
        let shared = self.shared();
        shared.read(|entries| entries.webhook_secrets.get(agent).cloned())
    }
}

/// The new secret before the newest of the current ones, which ends after `overlap` if it does not end sooner.
fn rotated(
    current: Vec<WebhookSecret>,
    made: &WebhookSecret,
    overlap: Duration,
    at: Timestamp,
) -> Vec<WebhookSecret> {
    let overlap = i64::try_from(overlap.as_nanos()).unwrap_or(i64::MAX);
    let end = Timestamp(at.0.saturating_add(overlap));
    let ending = current.into_iter().filter(|secret| is_valid(secret, at));
    let ending = ending.map(|secret| {
        let ends_sooner = !is_valid(&secret, end);
        let ends_at = secret.ends_at.filter(|_| ends_sooner);
        WebhookSecret {
            ends_at: ends_at.or_else(|| Some(time::to_proto(end))),
            ..secret
        }
    });
    let secrets = std::iter::once(made.clone()).chain(ending);
    let valid = secrets.filter(|secret| is_valid(secret, at));
    valid.take(WEBHOOK_SECRETS_MAX).collect()
}

/// A time that cannot be read has come: in doubt a secret is not used.
fn is_valid(secret: &WebhookSecret, now: Timestamp) -> bool {
    let ends = |ends_at| time::from_proto(ends_at).is_ok_and(|end| now < end);
    secret.ends_at.is_none_or(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(name: u8) -> WebhookSecret {
        WebhookSecret {
            sealed_key: Bytes::new(),
            key: vec![name].into(),
            created_at: None,
            ends_at: None,
        }
    }

    /// The names of the secrets that are valid at `at` seconds.
    fn names(secrets: &[WebhookSecret], at: i64) -> Vec<u8> {
        let now = Timestamp(at * 1_000_000_000);
        let valid = secrets.iter().filter(|secret| is_valid(secret, now));
        valid.map(|secret| secret.key[0]).collect()
    }

    fn rotate(
        current: &[WebhookSecret],
        name: u8,
        overlap_seconds: u64,
        at: i64,
    ) -> Vec<WebhookSecret> {
        let overlap = Duration::from_secs(overlap_seconds);
        let at = Timestamp(at * 1_000_000_000);
        rotated(current.to_vec(), &secret(name), overlap, at)
    }

    #[test]
    fn the_one_before_ends_after_the_overlap() {
        let first = rotate(&[], 1, 60, 0);
        assert_eq!(names(&first, 1_000_000), [1]);
        let second = rotate(&first, 2, 60, 100);
        assert_eq!(names(&second, 159), [2, 1]);
        assert_eq!(names(&second, 160), [2]);
        // A third within the overlap: of two at most, the oldest goes at once.
        let third = rotate(&second, 3, 60, 110);
        assert_eq!(names(&third, 111), [3, 2]);
        assert_eq!(names(&third, 170), [3]);
        assert_eq!(names(&rotate(&third, 4, 0, 120), 120), [4]);
    }
}
