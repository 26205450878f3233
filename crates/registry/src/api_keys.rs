//! API keys: public keys of agents, for frontends.

use std::time::Duration;

use domain::{AgentId, DisplayName, Timestamp};
use wire::proto::operate::v1::ApiKey;
use wire::time;

use crate::entry_keys::api_key_key;
use crate::secret::{API_KEY_PREFIX, digest, id_of};
use crate::{AllowedOrigins, Entries, Registry, RegistryError, Secret};

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
        display_name: &DisplayName,
        origins: AllowedOrigins,
        expires_at: Option<Timestamp>,
        at: Timestamp,
    ) -> Result<(ApiKey, Secret), RegistryError> {
        let what = RegistryError::NotFound { what: "agent" };
        let tenant = self.tenant_of(agent).await.ok_or(what)?;
        let new = ApiKey {
            agent_id: agent.as_str().to_owned(),
            tenant_id: tenant.as_str().to_owned(),
            display_name: display_name.to_string(),
            allowed_origins: origins.0,
            expires_at: expires_at.map(time::to_proto),
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
        expires_at: Option<Timestamp>,
        at: Timestamp,
    ) -> Result<(ApiKey, Secret), RegistryError> {
        let what = "valid API key";
        let valid = self.api_key(id).filter(|key| !has_ended(key, at));
        let new =
            ApiKey { expires_at: expires_at.map(time::to_proto), ..valid.ok_or(RegistryError::NotFound { what })? };
        let created = self.make_api_key(new, at).await?;
        let end = at.after(overlap);
        let replace = |key: &mut ApiKey| {
            key.replaced_by.clone_from(&created.0.api_key_id);
            if !has_ended(key, end) {
                key.expires_at = Some(time::to_proto(end));
            }
        };
        self.change_api_key(id, replace).await?;
        Ok(created)
    }

    /// Sets the allowed web origins of a key.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] or [`RegistryError::Unavailable`].
    pub async fn set_api_key_origins(&self, id: &str, origins: AllowedOrigins) -> Result<ApiKey, RegistryError> {
        self.change_api_key(id, |key| key.allowed_origins.clone_from(&origins.0)).await
    }

    /// Revokes a key; a revoked key keeps its time.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] or [`RegistryError::Unavailable`].
    pub async fn revoke_api_key(&self, id: &str, at: Timestamp) -> Result<ApiKey, RegistryError> {
        let revoke = |key: &mut ApiKey| {
            key.revoked_at.get_or_insert(time::to_proto(at));
        };
        self.change_api_key(id, revoke).await
    }

    async fn make_api_key(&self, new: ApiKey, at: Timestamp) -> Result<(ApiKey, Secret), RegistryError> {
        let secret = Secret::generate(API_KEY_PREFIX);
        let digest = digest(secret.reveal());
        let created = ApiKey {
            api_key_id: id_of(&digest),
            created_at: Some(time::to_proto(at)),
            key_sha256: digest.to_vec().into(),
            replaced_by: String::new(),
            ..new
        };
        let key = api_key_key(&digest);
        self.shared().create(&key, &created, "API key").await?;
        Ok((without_digest(created), secret))
    }

    async fn change_api_key(&self, id: &str, change: impl Fn(&mut ApiKey)) -> Result<ApiKey, RegistryError> {
        let find = |entries: &Entries| entries.api_keys.get(id).cloned();
        let key = |key: &ApiKey| api_key_key(&key.key_sha256);
        let change = |key: &mut ApiKey| {
            change(key);
            Ok::<_, RegistryError>(())
        };
        let changed = self.shared().update("API key", find, key, change);
        Ok(without_digest(changed.await?))
    }

    /// All keys of an agent, by id, including revoked ones, without their SHA-256.
    #[must_use]
    pub fn list_api_keys(&self, agent: &AgentId) -> Vec<ApiKey> {
        self.shared().read(|entries| {
            let of_agent = entries.api_keys.values().filter(|entry| entry.value.agent_id == agent.as_str());
            of_agent.map(|entry| without_digest(entry.value.clone())).collect()
        })
    }

    /// The key with this id, without its SHA-256.
    #[must_use]
    pub fn api_key(&self, id: &str) -> Option<ApiKey> {
        let find = |entries: &Entries| entries.api_keys.get(id).cloned();
        let entry = self.shared().read(find);
        entry.map(|entry| without_digest(entry.value))
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
