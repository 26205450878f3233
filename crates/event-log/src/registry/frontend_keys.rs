//! Authentication of frontends by API keys: agent, expiry and allowed web origins.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::{Actor, AgentId, Label, TenantAccess, TenantId, Timestamp};
use wire::proto::operate::v1::ApiKey;
use wire::time;

use super::Registry;
use super::access::AgentAccess;
use super::entry_keys::api_key_key;
use super::error::Corrupt;
use super::origins::ANY_ORIGIN;
use super::secret::{API_KEY_PREFIX, digest, id_of};

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
    pub(super) fn from_entry(api_key: &ApiKey) -> Result<Option<Self>, Corrupt> {
        let tenant = TenantId::parse(api_key.tenant_id.as_str()).map_err(|_| Corrupt)?;
        let agent = AgentId::parse(api_key.agent_id.as_str()).map_err(|_| Corrupt)?;
        let name = Label::parse(format!("api_key:{}", api_key.api_key_id));
        let expires_at = api_key.expires_at.map(time::from_proto).transpose();
        let key = Self {
            api_key_id: api_key.api_key_id.clone(),
            access: AgentAccess {
                tenant: TenantAccess::grant(tenant),
                agent,
                actor: Actor(name.map_err(|_| Corrupt)?),
            },
            allowed_origins: api_key.allowed_origins.as_slice().into(),
            expires_at: expires_at.map_err(|_| Corrupt)?,
        };
        Ok(api_key.revoked_at.is_none().then_some(key))
    }

    /// Whether a request from this web origin may use the key. A request without an origin is not from a browser, and may.
    #[must_use]
    pub fn allows_origin(&self, origin: Option<&str>) -> bool {
        let allows = |origin: &str| {
            let mut allowed = self.allowed_origins.iter();
            allowed.any(|allowed| allowed == ANY_ORIGIN || allowed == origin)
        };
        origin.is_none_or(allows)
    }

    fn is_valid(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|expiry| now < expiry)
    }
}

impl Registry {
    /// The frontend with this API key; `None`: unknown, revoked or expired.
    ///
    /// Answers from memory; looks up an unknown key once in the bucket, at a bounded rate.
    pub async fn authenticate_api_key(&self, key: &str, now: Timestamp) -> Option<FrontendKey> {
        if !key.starts_with(API_KEY_PREFIX) {
            return None;
        }
        let shared = self.shared();
        let digest = digest(key);
        let id = id_of(&digest);
        let known = || {
            shared.read(|entries| {
                let frontend = entries.frontend_keys.get(&digest).cloned();
                (frontend, entries.api_keys.contains_key(&id))
            })
        };
        let found = match known() {
            (None, false) => {
                shared.look_up(&api_key_key(&digest)).await;
                known().0
            }
            (frontend, _) => frontend,
        };
        found.filter(|frontend| frontend.is_valid(now))
    }

    /// The distinct web origins of the valid keys of a tenant's agents.
    #[must_use]
    pub fn tenant_origins(&self, tenant: &TenantId, now: Timestamp) -> Vec<String> {
        let origins: BTreeSet<String> = self.shared().read(|entries| {
            let keys = entries.frontend_keys.values();
            let valid =
                keys.filter(|key| key.access.tenant.tenant() == tenant && key.is_valid(now));
            valid
                .flat_map(|key| key.allowed_origins.iter().cloned())
                .collect()
        });
        origins.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(origins: &[&str], expires_at: Option<Timestamp>) -> FrontendKey {
        let api_key = ApiKey {
            api_key_id: "0123456789abcdef".to_owned(),
            tenant_id: "acme".to_owned(),
            agent_id: "support".to_owned(),
            allowed_origins: origins.iter().map(|origin| (*origin).to_owned()).collect(),
            expires_at: expires_at.map(time::to_proto),
            ..ApiKey::default()
        };
        FrontendKey::from_entry(&api_key).unwrap().unwrap()
    }

    #[test]
    fn origins_are_allowed_as_they_are_written() {
        let check = |allowed: &[&str], origin: Option<&str>, expected: bool| {
            let seen = key(allowed, None).allows_origin(origin);
            assert_eq!(seen, expected, "{allowed:?} {origin:?}");
        };
        let shop = ["https://a.example", "https://shop.example"];
        check(&shop, Some("https://shop.example"), true);
        for other in [
            "https://shop.example:444",
            "http://shop.example",
            "null",
            "",
            "https://x.shop.example",
        ] {
            check(&shop, Some(other), false);
        }
        check(&shop, None, true);
        check(&["*"], Some("null"), true);
        check(&[], Some("https://shop.example"), false);
        check(&[], None, true);
    }

    #[test]
    fn keys_end_at_their_time() {
        let key = key(&[], Some(Timestamp(100)));
        assert!(key.is_valid(Timestamp(99)));
        assert!(!key.is_valid(Timestamp(100)));
        assert_eq!(key.access.actor.0.as_str(), "api_key:0123456789abcdef");
    }
}
