//! API keys: public keys of agents, for frontends.

use std::time::Duration;

use domain::{AgentId, Timestamp};
use wire::proto::operate::v1::ApiKey;
use wire::time;

use super::bucket::Change;
use super::entries::Held;
use super::entry_keys::api_key_key;
use super::error::RegistryError;
use super::origins::AllowedOrigins;
use super::secret::{API_KEY_PREFIX, Secret, digest, id_of};
use super::{CHANGES_MAX, Registry};
use crate::error::Unavailable;

/// The longest that a key stays valid beside the one in its place.
pub const OVERLAP_MAX: Duration = Duration::from_hours(30 * 24);

impl Registry {
    /// Makes a key of an agent. The secret is not kept: this is the only time to show it.
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

    /// Makes a key in the place of one, which stays valid for `overlap`, or less where it was to end before.
    ///
    /// The new one is made first: there is no moment without a valid key.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] without a key of this id that is valid, or [`RegistryError::Unavailable`].
    pub async fn rotate_api_key(
        &self,
        id: &str,
        overlap: Duration,
        at: Timestamp,
    ) -> Result<(ApiKey, Secret), RegistryError> {
        let gone = RegistryError::NotFound {
            what: "valid API key",
        };
        let Some(Held { value: old, .. }) = self.held_api_key(id) else {
            return Err(gone);
        };
        if has_ended(&old, at) {
            return Err(gone);
        }
        let new = ApiKey {
            expires_at: None,
            ..old
        };
        let made = self.make_api_key(new, at).await?;
        let overlap = i64::try_from(overlap.as_nanos()).unwrap_or(i64::MAX);
        let end = Timestamp(at.0.saturating_add(overlap));
        let ending = |key: ApiKey| {
            let sooner = has_ended(&key, end);
            let expires_at = if sooner {
                key.expires_at
            } else {
                Some(time::to_proto(end))
            };
            ApiKey { expires_at, ..key }
        };
        self.change_api_key(id, ending).await?;
        Ok(made)
    }

    /// Sets which web origins may use a key.
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

    /// Ends a key; one that was ended before keeps its time.
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
        let made = ApiKey {
            api_key_id: id_of(&digest),
            created_at: Some(time::to_proto(at)),
            key_sha256: digest.to_vec().into(),
            ..new
        };
        let key = api_key_key(&digest);
        self.shared().create(&key, &made, "API key").await?;
        Ok((shown(made), secret))
    }

    async fn change_api_key(
        &self,
        id: &str,
        change: impl Fn(ApiKey) -> ApiKey,
    ) -> Result<ApiKey, RegistryError> {
        for _ in 0..CHANGES_MAX {
            let Some(Held { revision, value }) = self.held_api_key(id) else {
                return Err(RegistryError::NotFound { what: "API key" });
            };
            let changed = change(value.clone());
            if changed == value {
                return Ok(shown(value));
            }
            let key = api_key_key(&changed.key_sha256);
            if self.shared().put(&key, &changed, Some(revision)).await? == Change::Made {
                return Ok(shown(changed));
            }
        }
        Err(Unavailable::new("the API key keeps changing").into())
    }

    /// Every key of an agent, by id, revoked ones among them, without their SHA-256.
    #[must_use]
    pub fn list_api_keys(&self, agent: &AgentId) -> Vec<ApiKey> {
        self.shared().read(|entries| {
            let all = entries.api_keys.values();
            let theirs = all.filter(|held| held.value.agent_id == agent.as_str());
            theirs.map(|held| shown(held.value.clone())).collect()
        })
    }

    /// The key with this id, without its SHA-256.
    #[must_use]
    pub fn api_key(&self, id: &str) -> Option<ApiKey> {
        self.held_api_key(id).map(|held| shown(held.value))
    }

    fn held_api_key(&self, id: &str) -> Option<Held<ApiKey>> {
        self.shared()
            .read(|entries| entries.api_keys.get(id).cloned())
    }
}

/// A time that cannot be read has come: in doubt a key is not valid.
fn has_ended(key: &ApiKey, at: Timestamp) -> bool {
    let has_come = |end| time::from_proto(end).map_or(true, |end| end <= at);
    key.revoked_at.is_some() || key.expires_at.is_some_and(has_come)
}

/// As callers see it.
fn shown(mut api_key: ApiKey) -> ApiKey {
    api_key.key_sha256.clear();
    api_key
}
