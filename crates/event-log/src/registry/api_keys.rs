//! API keys: public keys of agents, for frontends.

use domain::{AgentId, Timestamp};
use wire::proto::operate::v1::ApiKey;
use wire::time;

use super::bucket::Change;
use super::entries::{Held, api_key_key};
use super::error::RegistryError;
use super::secret::{API_KEY_PREFIX, Secret, digest, id_of};
use super::{CHANGES_MAX, Registry};
use crate::error::Unavailable;

impl Registry {
    /// Makes a key of an agent. The secret is not kept: this is the only time to show it.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] without the agent, or [`RegistryError::Unavailable`].
    pub async fn create_api_key(
        &self,
        agent: &AgentId,
        display_name: &str,
        at: Timestamp,
    ) -> Result<(ApiKey, Secret), RegistryError> {
        let what = RegistryError::NotFound { what: "agent" };
        let tenant = self.tenant_of(agent).await.ok_or(what)?;
        let secret = Secret::generate(API_KEY_PREFIX);
        let digest = digest(secret.reveal());
        let made = ApiKey {
            api_key_id: id_of(&digest),
            agent_id: agent.as_str().to_owned(),
            tenant_id: tenant.as_str().to_owned(),
            display_name: display_name.to_owned(),
            created_at: Some(time::to_proto(at)),
            revoked_at: None,
            key_sha256: digest.to_vec().into(),
            ..ApiKey::default()
        };
        let key = api_key_key(&digest);
        self.shared().create(&key, &made, "API key").await?;
        Ok((shown(made), secret))
    }

    /// Ends a key; one that was ended before keeps its time.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] or [`RegistryError::Unavailable`].
    pub async fn revoke_api_key(&self, id: &str, at: Timestamp) -> Result<ApiKey, RegistryError> {
        for _ in 0..CHANGES_MAX {
            let Some(Held { revision, value }) = self.held_api_key(id) else {
                return Err(RegistryError::NotFound { what: "API key" });
            };
            if value.revoked_at.is_some() {
                return Ok(shown(value));
            }
            let ended = ApiKey {
                revoked_at: Some(time::to_proto(at)),
                ..value
            };
            let key = api_key_key(&ended.key_sha256);
            if self.shared().put(&key, &ended, Some(revision)).await? == Change::Made {
                return Ok(shown(ended));
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

/// As callers see it.
fn shown(mut api_key: ApiKey) -> ApiKey {
    api_key.key_sha256.clear();
    api_key
}
