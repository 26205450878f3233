//! API keys: public keys of agents, for frontends.

use std::time::Duration;

use domain::{AgentId, Timestamp};
use wire::proto::operate::v1::ApiKey;
use wire::time;

use super::Registry;
use super::entries::{Entries, Entry};
use super::entry_keys::api_key_key;
use super::error::RegistryError;
use super::origins::AllowedOrigins;
use super::secret::{API_KEY_PREFIX, Secret, digest, id_of};

/// Maximum time that a rotated key stays valid.
pub const OVERLAP_MAX: Duration = Duration::from_hours(30 * 24);

impl Registry {
    /// Creates a key of an agent. The secret is not stored; this call returns it for the only time.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] without the agent, or [`RegistryError::Unavailable`].
    pub async fn create_api_key(
        &self,
        agent: &AgentId,
        display_name: &str,
        origins: AllowedOrigins,
        at: Timestamp,
    ) -> Result<(ApiKey, Secret), RegistryError> {
        let what = RegistryError::NotFound { what: "agent" };
        let tenant = self.tenant_of(agent).await.ok_or(what)?;
        let new = ApiKey {
            agent_id: agent.as_str().to_owned(),
            tenant_id: tenant.as_str().to_owned(),
            display_name: display_name.to_owned(),
            allowed_origins: origins.into_vec(),
            ..ApiKey::default()
        };
        self.make_api_key(new, at).await
    }

    /// Replaces a key, which stays valid for `overlap`, or until its end if that is sooner.
    ///
    /// The new key is created first, so there is always a valid key.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] without a valid key of this id, or [`RegistryError::Unavailable`].
    pub async fn rotate_api_key(
        &self,
        id: &str,
        overlap: Duration,
        at: Timestamp,
    ) -> Result<(ApiKey, Secret), RegistryError> {
        let gone = RegistryError::NotFound {
            what: "valid API key",
        };
        let Some(Entry { value: old, .. }) = self.api_key_entry(id) else {
            return Err(gone);
        };
        if has_ended(&old, at) {
            return Err(gone);
        }
        let new = ApiKey {
            expires_at: None,
            ..old
        };
        let created = self.make_api_key(new, at).await?;
        let overlap = i64::try_from(overlap.as_nanos()).unwrap_or(i64::MAX);
        let end = Timestamp(at.0.saturating_add(overlap));
        let ending = |key: ApiKey| {
            if has_ended(&key, end) {
                return key;
            }
            ApiKey {
                expires_at: Some(time::to_proto(end)),
                ..key
            }
        };
        self.change_api_key(id, ending).await?;
        Ok(created)
    }

    /// Sets the allowed web origins of a key.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] or [`RegistryError::Unavailable`].
    pub async fn set_api_key_origins(
        &self,
        id: &str,
        origins: AllowedOrigins,
    ) -> Result<ApiKey, RegistryError> {
        let origins = origins.into_vec();
        let changed = |key: ApiKey| ApiKey {
            allowed_origins: origins.clone(),
            ..key
        };
        self.change_api_key(id, changed).await
    }

    /// Revokes a key; a revoked key keeps its time.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] or [`RegistryError::Unavailable`].
    pub async fn revoke_api_key(&self, id: &str, at: Timestamp) -> Result<ApiKey, RegistryError> {
        let ended = |key: ApiKey| ApiKey {
            revoked_at: key.revoked_at.or_else(|| Some(time::to_proto(at))),
            ..key
        };
        self.change_api_key(id, ended).await
    }

    async fn make_api_key(
        &self,
        new: ApiKey,
        at: Timestamp,
    ) -> Result<(ApiKey, Secret), RegistryError> {
        let secret = Secret::generate(API_KEY_PREFIX);
        let digest = digest(secret.reveal());
        let created = ApiKey {
            api_key_id: id_of(&digest),
            created_at: Some(time::to_proto(at)),
            key_sha256: digest.to_vec().into(),
            ..new
        };
        let key = api_key_key(&digest);
        self.shared().create(&key, &created, "API key").await?;
        Ok((without_digest(created), secret))
    }

    async fn change_api_key(
        &self,
        id: &str,
        change: impl Fn(ApiKey) -> ApiKey,
    ) -> Result<ApiKey, RegistryError> {
        let find = |entries: &Entries| entries.api_keys.get(id).cloned();
        let key = |key: &ApiKey| api_key_key(&key.key_sha256);
        let change = |key| Ok::<_, RegistryError>(change(key));
        let changed = self.shared().update("API key", find, key, change);
        Ok(without_digest(changed.await?))
    }

    /// All keys of an agent, by id, including revoked ones, without their SHA-256.
    #[must_use]
    pub fn list_api_keys(&self, agent: &AgentId) -> Vec<ApiKey> {
        self.shared().read(|entries| {
            let all = entries.api_keys.values();
            let of_agent = all.filter(|entry| entry.value.agent_id == agent.as_str());
            of_agent
                .map(|entry| without_digest(entry.value.clone()))
                .collect()
        })
    }

    /// The key with this id, without its SHA-256.
    #[must_use]
    pub fn api_key(&self, id: &str) -> Option<ApiKey> {
        self.api_key_entry(id)
            .map(|entry| without_digest(entry.value))
    }

    fn api_key_entry(&self, id: &str) -> Option<Entry<ApiKey>> {
        self.shared()
            .read(|entries| entries.api_keys.get(id).cloned())
    }
}

/// A key with an invalid time is treated as ended.
fn has_ended(key: &ApiKey, at: Timestamp) -> bool {
    let is_past = |end| time::from_proto(end).map_or(true, |end| end <= at);
    key.revoked_at.is_some() || key.expires_at.is_some_and(is_past)
}

/// Removes the digest, which callers must not see.
fn without_digest(mut api_key: ApiKey) -> ApiKey {
    api_key.key_sha256.clear();
    api_key
}
