//! The registry in memory: the bucket's entries, indexed for lookups.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use domain::{AgentId, Sequence, SigningKeyId, TenantId};
use prost::Message;
use wire::proto::operate::v1::{
    Agent, ApiKey, ContextPolicy, RevokedTokens, ServiceToken, SigningKey, Tenant, TenantSecret, WebhookSecrets,
};

use crate::error::Corrupt;
use crate::{Digest, FrontendKey, Principal, Seals, TENANT_KEY_BYTES};

/// An entry and its revision, which is its sequence in the bucket's stream.
#[derive(Debug, Clone)]
pub(crate) struct Entry<T> {
    pub(crate) revision: Sequence,
    pub(crate) value: T,
}

/// An agent and its tenant.
#[derive(Debug, Clone)]
pub(crate) struct AgentOfTenant {
    pub(crate) tenant: TenantId,
    pub(crate) agent: Agent,
}

/// The revoked tokens of a tenant.
#[derive(Debug, Clone)]
pub(crate) struct Revoked {
    pub(crate) tokens: RevokedTokens,
    /// The digests of their ids.
    pub(crate) digests: Arc<HashSet<Digest>>,
}

#[derive(Debug, Default)]
pub(crate) struct Entries {
    pub(crate) seals: Seals,
    pub(crate) tenants: BTreeMap<TenantId, Entry<Tenant>>,
    pub(crate) tenant_secrets: BTreeMap<TenantId, Entry<TenantSecret>>,
    pub(crate) agents: BTreeMap<AgentId, Entry<AgentOfTenant>>,
    pub(crate) revoked_tokens: BTreeMap<TenantId, Entry<Revoked>>,
    pub(crate) webhook_secrets: BTreeMap<AgentId, Entry<WebhookSecrets>>,
    pub(crate) context_policies: BTreeMap<(TenantId, Digest), Entry<ContextPolicy>>,
    /// By their own ids.
    pub(crate) api_keys: BTreeMap<String, Entry<ApiKey>>,
    /// By the digest of the key; without revoked keys, possibly with expired ones.
    pub(crate) frontend_keys: HashMap<Digest, FrontendKey>,
    /// By their tenants, then by their own ids.
    pub(crate) signing_keys: BTreeMap<TenantId, BTreeMap<SigningKeyId, Entry<Arc<SigningKey>>>>,
    /// By their own ids.
    pub(crate) service_tokens: BTreeMap<String, Entry<ServiceToken>>,
    /// By the digest of the token; without revoked tokens.
    pub(crate) principals: HashMap<Digest, Principal>,
}

impl Entries {
    /// Applies an entry, unless memory has a later revision.
    pub(crate) fn apply(&mut self, key: &str, revision: Sequence, value: &[u8]) -> Result<(), Corrupt> {
        match key.split_once('.').ok_or(Corrupt)? {
            ("tenant", _) => {
                let tenant: Tenant = decode(value)?;
                let id = TenantId::parse(tenant.tenant_id.as_str())?;
                put(&mut self.tenants, id, revision, tenant);
            }
            ("secret", _) => self.apply_tenant_secret(key, revision, decode(value)?)?,
            ("agent", _) => {
                let agent: Agent = decode(value)?;
                let id = AgentId::parse(agent.agent_id.as_str())?;
                let tenant = TenantId::parse(agent.tenant_id.as_str())?;
                put(&mut self.agents, id, revision, AgentOfTenant { tenant, agent });
            }
            ("revoked", _) => self.apply_revoked_tokens(revision, decode(value)?)?,
            ("webhook", _) => {
                let mut secrets: WebhookSecrets = decode(value)?;
                let id = AgentId::parse(secrets.agent_id.as_str())?;
                if self.seals.open(key, &mut secrets) {
                    put(&mut self.webhook_secrets, id, revision, secrets);
                }
            }
            ("policy", _) => {
                let policy: ContextPolicy = decode(value)?;
                let tenant = TenantId::parse(policy.tenant_id.as_str())?;
                let id = (tenant, to_digest(&policy.digest)?);
                put(&mut self.context_policies, id, revision, policy);
            }
            ("apikey", _) => self.apply_api_key(revision, decode(value)?)?,
            ("signing", _) => self.apply_signing_key(key, revision, decode(value)?)?,
            ("token", _) => self.apply_service_token(revision, decode(value)?)?,
            ("gone", key) => self.remove(key, revision)?,
            // An entry of earlier versions; receipt keys are in the restricted bucket now.
            ("receipt", _) => {}
            _ => return Err(Corrupt),
        }
        Ok(())
    }

    fn apply_tenant_secret(&mut self, key: &str, revision: Sequence, mut secret: TenantSecret) -> Result<(), Corrupt> {
        let tenant = TenantId::parse(secret.tenant_id.as_str())?;
        if self.seals.open(key, &mut secret) {
            if secret.root.len() != TENANT_KEY_BYTES {
                return Err(Corrupt);
            }
            put(&mut self.tenant_secrets, tenant, revision, secret);
        }
        Ok(())
    }

    fn apply_revoked_tokens(&mut self, revision: Sequence, revoked: RevokedTokens) -> Result<(), Corrupt> {
        let tenant = TenantId::parse(revoked.tenant_id.as_str())?;
        let digests = revoked.tokens.iter().map(|token| to_digest(&token.token_id_sha256)).collect::<Result<_, _>>()?;
        put(&mut self.revoked_tokens, tenant, revision, Revoked { tokens: revoked, digests: Arc::new(digests) });
        Ok(())
    }

    fn apply_api_key(&mut self, revision: Sequence, api_key: ApiKey) -> Result<(), Corrupt> {
        let digest = to_digest(&api_key.key_sha256)?;
        let frontend_key = FrontendKey::from_entry(&api_key)?;
        let id = api_key.api_key_id.clone();
        if put(&mut self.api_keys, id, revision, api_key) {
            set(&mut self.frontend_keys, digest, frontend_key);
        }
        Ok(())
    }

    fn apply_signing_key(&mut self, entry: &str, revision: Sequence, mut key: SigningKey) -> Result<(), Corrupt> {
        let tenant = TenantId::parse(key.tenant_id.as_str())?;
        let id = SigningKeyId::parse(key.signing_key_id.as_str())?;
        if self.seals.open(entry, &mut key) {
            let theirs = self.signing_keys.entry(tenant).or_default();
            put(theirs, id, revision, Arc::new(key));
        }
        Ok(())
    }

    fn apply_service_token(&mut self, revision: Sequence, token: ServiceToken) -> Result<(), Corrupt> {
        let digest = to_digest(&token.token_sha256)?;
        let principal = Principal::from_entry(&token)?;
        let id = token.service_token_id.clone();
        if put(&mut self.service_tokens, id, revision, token) {
            set(&mut self.principals, digest, principal);
        }
        Ok(())
    }
}

fn to_digest(bytes: &[u8]) -> Result<Digest, Corrupt> {
    bytes.try_into().map_err(|_| Corrupt)
}

/// Sets or removes the caller with a secret.
fn set<V>(callers: &mut HashMap<Digest, V>, digest: Digest, caller: Option<V>) {
    match caller {
        Some(caller) => drop(callers.insert(digest, caller)),
        None => drop(callers.remove(&digest)),
    }
}

/// Inserts a value unless memory has a later revision; returns whether it did.
fn put<K: Ord, V>(map: &mut BTreeMap<K, Entry<V>>, key: K, revision: Sequence, value: V) -> bool {
    let is_later = map.get(&key).is_none_or(|entry| entry.revision < revision);
    if is_later {
        map.insert(key, Entry { revision, value });
    }
    is_later
}

/// An empty value would be a deletion marker of key-value clients, which this program never writes.
fn decode<M: Message + Default>(value: &[u8]) -> Result<M, Corrupt> {
    if value.is_empty() {
        return Err(Corrupt);
    }
    M::decode(value).map_err(|_| Corrupt)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(name: &str) -> Vec<u8> {
        let tenant = Tenant { tenant_id: "acme".to_owned(), display_name: name.to_owned(), ..Tenant::default() };
        tenant.encode_to_vec()
    }

    #[test]
    fn later_revisions_win_in_any_order() {
        let mut entries = Entries::default();
        for (revision, name) in [(2, "second"), (1, "first"), (2, "again"), (3, "third")] {
            let applied = entries.apply("tenant.acme", Sequence(revision), &tenant(name));
            assert_eq!(applied, Ok(()));
        }
        let stored: Vec<_> = entries.tenants.values().collect();
        assert_eq!(stored.len(), 1);
        assert_eq!(stored[0].value.display_name, "third");
    }

    #[test]
    fn corrupt_entries_are_rejected() {
        let mut entries = Entries::default();
        let mut check = |key: &str, value: &[u8]| {
            assert_eq!(entries.apply(key, Sequence(1), value), Err(Corrupt), "{key}");
        };
        check("tenant.acme", &[]);
        check("tenant.acme", b"\xff\xff");
        check("secret.acme", &TenantSecret::default().encode_to_vec());
        check("revoked.acme", &RevokedTokens::default().encode_to_vec());
        check("webhook.acme.bot", &WebhookSecrets::default().encode_to_vec());
        check("agent.bot", &tenant("an agent without a tenant")[..4]);
        check("apikey.00", &ApiKey::default().encode_to_vec());
        check("signing.acme.a", &SigningKey::default().encode_to_vec());
        check("token.00", &ServiceToken::default().encode_to_vec());
        check("unknown.kind", &tenant("x"));
        check("nodot", &tenant("x"));
    }
}
