//! Authentication of frontends by API keys: agent, expiry and allowed web origins.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::{Actor, AgentId, Label, TenantAccess, TenantId, Timestamp};
use wire::proto::operate::v1::ApiKey;
use wire::time;

use crate::entry_keys::api_key_key;
use crate::error::Corrupt;
use crate::secret::{API_KEY_PREFIX, digest, id_of};
use crate::{AgentAccess, Registry, UsedKey};

/// A frontend with a valid API key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontendKey {
    /// The key's id.
    pub api_key_id: String,
    /// Permission to act for the key's agent. The actor of commits is `api_key:` and the key's id.
    pub access: AgentAccess,
    /// The allowed web origins in the format of browsers; `*` allows any.
    pub allowed_origins: Arc<[String]>,
    expires_at: Option<Timestamp>,
}

impl FrontendKey {
    /// Converts an entry; `None`: the key is revoked.
    pub(crate) fn from_entry(api_key: &ApiKey) -> Result<Option<Self>, Corrupt> {
        let tenant = TenantId::parse(api_key.tenant_id.as_str())?;
        let name = Label::parse(format!("api_key:{}", api_key.api_key_id))?;
        let key = Self {
            api_key_id: api_key.api_key_id.clone(),
            access: AgentAccess {
                tenant: TenantAccess::grant(tenant),
                agent: AgentId::parse(api_key.agent_id.as_str())?,
                actor: Actor(name),
            },
            allowed_origins: api_key.allowed_origins.as_slice().into(),
            expires_at: api_key.expires_at.map(time::from_proto).transpose()?,
        };
        Ok(api_key.revoked_at.is_none().then_some(key))
    }

    fn is_valid(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|expiry| now < expiry)
    }
}

impl Registry {
    /// The frontend with this API key; `None`: unknown, revoked or expired.
    ///
    /// Answers from memory; looks up an unknown key once in the bucket, at a bounded rate. Remembers the use of the key.
    pub async fn authenticate_api_key(&self, key: &str, now: Timestamp) -> Option<FrontendKey> {
        if !key.starts_with(API_KEY_PREFIX) {
            return None;
        }
        let digest = digest(key);
        let id = id_of(&digest);
        let key = || api_key_key(&digest);
        let found = self.shared().find(key, |entries| {
            let is_known = entries.api_keys.contains_key(&id);
            is_known.then(|| entries.frontend_keys.get(&digest).cloned())
        });
        let valid = found.await.flatten().filter(|frontend| frontend.is_valid(now));
        valid.inspect(|frontend| self.key_used(UsedKey::ApiKey(frontend.api_key_id.clone()), now))
    }

    /// The distinct web origins of the valid keys of a tenant's agents.
    #[must_use]
    pub fn tenant_origins(&self, tenant: &TenantId, now: Timestamp) -> Vec<String> {
        let origins: BTreeSet<String> = self.shared().read(|entries| {
            let keys = entries.frontend_keys.values();
            let valid = keys.filter(|key| key.access.tenant.tenant() == tenant && key.is_valid(now));
            valid.flat_map(|key| key.allowed_origins.iter().cloned()).collect()
        });
        origins.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(expires_at: Timestamp) -> FrontendKey {
        let api_key = ApiKey {
            api_key_id: "0123456789abcdef".to_owned(),
            tenant_id: "acme".to_owned(),
            agent_id: "support".to_owned(),
            expires_at: Some(time::to_proto(expires_at)),
            ..ApiKey::default()
        };
        FrontendKey::from_entry(&api_key).unwrap().unwrap()
    }

    #[test]
    fn keys_end_at_their_time() {
        let key = key(Timestamp(100));
        assert!(key.is_valid(Timestamp(99)));
        assert!(!key.is_valid(Timestamp(100)));
        assert_eq!(key.access.actor.0.as_str(), "api_key:0123456789abcdef");
    }
}
