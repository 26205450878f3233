//! The registry in memory: the bucket's entries, indexed for lookups.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use domain::{Actor, AgentId, Label, Sequence, SigningKeyId, TenantId};
use prost::Message;
use wire::proto::operate::v1::signing_key::Kind;
use wire::proto::operate::v1::{
    Agent, ApiKey, ContextPolicy, RevokedTokens, ServiceToken, SigningKey, Tenant, TenantSecret,
    WebhookSecrets,
};

use super::access::Principal;
use super::error::Corrupt;
use super::frontend_keys::FrontendKey;
use super::scope::Scopes;
use super::seals::Seals;
use super::secret::Digest;
use super::tenant_secrets::TENANT_KEY_BYTES;

/// An entry and its revision, which is its sequence in the bucket's stream.
#[derive(Debug, Clone)]
pub(super) struct Entry<T> {
    pub(super) revision: Sequence,
    pub(super) value: T,
}

/// The revoked tokens of a tenant, and the digests of their ids.
pub(super) type Revoked = (RevokedTokens, Arc<HashSet<Digest>>);

#[derive(Debug, Default)]
pub(super) struct Entries {
    pub(super) seals: Seals,
    pub(super) tenants: BTreeMap<TenantId, Entry<Tenant>>,
    pub(super) tenant_secrets: BTreeMap<TenantId, Entry<TenantSecret>>,
    pub(super) agents: BTreeMap<AgentId, Entry<(TenantId, Agent)>>,
    pub(super) revoked_tokens: BTreeMap<TenantId, Entry<Revoked>>,
    pub(super) webhook_secrets: BTreeMap<AgentId, Entry<WebhookSecrets>>,
    pub(super) context_policies: BTreeMap<(TenantId, Digest), Entry<ContextPolicy>>,
    /// By their own ids.
    pub(super) api_keys: BTreeMap<String, Entry<ApiKey>>,
    /// By the digest of the key; without revoked keys, possibly with expired ones.
    pub(super) frontend_keys: HashMap<Digest, FrontendKey>,
    /// By their tenants, then by their own ids.
    pub(super) signing_keys: BTreeMap<TenantId, BTreeMap<SigningKeyId, Entry<Arc<SigningKey>>>>,
    /// By their own ids.
    pub(super) service_tokens: BTreeMap<String, Entry<ServiceToken>>,
    /// By the digest of the token; without revoked tokens.
    pub(super) principals: HashMap<Digest, Principal>,
}

impl Entries {
    /// Applies an entry, unless memory has a later revision.
    pub(super) fn apply(
        &mut self,
        key: &str,
        revision: Sequence,
        value: &[u8],
    ) -> Result<(), Corrupt> {
        let name = key;
        match key.split_once('.').ok_or(Corrupt)? {
            ("tenant", _) => self.apply_tenant(revision, decode(value)?),
            ("secret", _) => self.apply_tenant_secret(name, revision, decode(value)?),
            ("agent", _) => self.apply_agent(revision, decode(value)?),
            ("revoked", _) => self.apply_revoked_tokens(revision, decode(value)?),
            ("webhook", _) => self.apply_webhook_secrets(name, revision, decode(value)?),
            ("policy", _) => self.apply_policy(revision, decode(value)?),
            ("apikey", _) => self.apply_api_key(revision, decode(value)?),
            ("signing", _) => self.apply_signing_key(name, revision, decode(value)?),
            ("token", _) => self.apply_service_token(revision, decode(value)?),
            ("gone", key) => self.remove(key, revision),
            // An entry of earlier versions; receipt keys are in the restricted bucket now.
            ("receipt", _) => Ok(()),
            _ => Err(Corrupt),
        }
    }

    fn apply_tenant(&mut self, revision: Sequence, tenant: Tenant) -> Result<(), Corrupt> {
        let id = TenantId::parse(tenant.tenant_id.as_str()).map_err(|_| Corrupt)?;
        put(&mut self.tenants, id, revision, tenant);
        Ok(())
    }

    fn apply_tenant_secret(
        &mut self,
        name: &str,
        revision: Sequence,
        mut secret: TenantSecret,
    ) -> Result<(), Corrupt> {
        let tenant = TenantId::parse(secret.tenant_id.as_str()).map_err(|_| Corrupt)?;
        let Some(root) = self.seals.open(name, &secret.root, &secret.sealed_root) else {
            return Ok(());
        };
        secret.root = root;
        secret.sealed_root.clear();
        if secret.root.len() != TENANT_KEY_BYTES {
            return Err(Corrupt);
        }
        put(&mut self.tenant_secrets, tenant, revision, secret);
        Ok(())
    }

    fn apply_agent(&mut self, revision: Sequence, agent: Agent) -> Result<(), Corrupt> {
        let id = AgentId::parse(agent.agent_id.as_str()).map_err(|_| Corrupt)?;
        let tenant = TenantId::parse(agent.tenant_id.as_str()).map_err(|_| Corrupt)?;
        put(&mut self.agents, id, revision, (tenant, agent));
        Ok(())
    }

    fn apply_revoked_tokens(
        &mut self,
        revision: Sequence,
        revoked: RevokedTokens,
    ) -> Result<(), Corrupt> {
        let tenant = TenantId::parse(revoked.tenant_id.as_str()).map_err(|_| Corrupt)?;
        let digests = revoked.tokens.iter();
        let digests = digests.map(|token| to_digest(&token.token_id_sha256));
        let digests = digests.collect::<Result<HashSet<Digest>, Corrupt>>()?;
        let value = (revoked, Arc::new(digests));
        put(&mut self.revoked_tokens, tenant, revision, value);
        Ok(())
    }

    fn apply_webhook_secrets(
        &mut self,
        name: &str,
        revision: Sequence,
        mut secrets: WebhookSecrets,
    ) -> Result<(), Corrupt> {
        let id = AgentId::parse(secrets.agent_id.as_str()).map_err(|_| Corrupt)?;
        for secret in &mut secrets.secrets {
            let Some(key) = self.seals.open(name, &secret.key, &secret.sealed_key) else {
                return Ok(());
            };
            secret.key = key;
            secret.sealed_key.clear();
        }
        put(&mut self.webhook_secrets, id, revision, secrets);
        Ok(())
    }

    fn apply_policy(&mut self, revision: Sequence, policy: ContextPolicy) -> Result<(), Corrupt> {
        let tenant = TenantId::parse(policy.tenant_id.as_str()).map_err(|_| Corrupt)?;
        let key = (tenant, to_digest(&policy.digest)?);
        put(&mut self.context_policies, key, revision, policy);
        Ok(())
    }

    fn apply_api_key(&mut self, revision: Sequence, api_key: ApiKey) -> Result<(), Corrupt> {
        let digest = to_digest(&api_key.key_sha256)?;
        let frontend_key = FrontendKey::from_entry(&api_key)?;
        let id = api_key.api_key_id.clone();
        if put(&mut self.api_keys, id, revision, api_key) {
            match frontend_key {
                Some(key) => drop(self.frontend_keys.insert(digest, key)),
                None => drop(self.frontend_keys.remove(&digest)),
            }
        }
        Ok(())
    }

    fn apply_signing_key(
        &mut self,
        name: &str,
        revision: Sequence,
        mut key: SigningKey,
    ) -> Result<(), Corrupt> {
        let tenant = TenantId::parse(key.tenant_id.as_str()).map_err(|_| Corrupt)?;
        let id = SigningKeyId::parse(key.signing_key_id.as_str()).map_err(|_| Corrupt)?;
        if let Some(Kind::Hs256Secret(secret)) = &mut key.kind {
            let Some(opened) = self.seals.open(name, secret, &key.sealed_secret) else {
                return Ok(());
            };
            *secret = opened;
            key.sealed_secret.clear();
        }
        let theirs = self.signing_keys.entry(tenant).or_default();
        put(theirs, id, revision, Arc::new(key));
        Ok(())
    }

    fn apply_service_token(
        &mut self,
        revision: Sequence,
        token: ServiceToken,
    ) -> Result<(), Corrupt> {
        let digest = to_digest(&token.token_sha256)?;
        let principal = to_principal(&token)?;
        let id = token.service_token_id.clone();
        let is_revoked = token.revoked_at.is_some();
        if !put(&mut self.service_tokens, id, revision, token) {
            return Ok(());
        }
        if is_revoked {
            self.principals.remove(&digest);
        } else {
            self.principals.insert(digest, principal);
        }
        Ok(())
    }
}

fn to_digest(bytes: &[u8]) -> Result<Digest, Corrupt> {
    bytes.try_into().map_err(|_| Corrupt)
}

fn to_principal(token: &ServiceToken) -> Result<Principal, Corrupt> {
    let tenant = match token.tenant_id.as_str() {
        "" => None,
        tenant => Some(TenantId::parse(tenant).map_err(|_| Corrupt)?),
    };
    let name = Label::parse(token.display_name.as_str()).map_err(|_| Corrupt)?;
    Ok(Principal {
        actor: Actor(name),
        scopes: Scopes::from_proto(token.scopes()),
        tenant,
    })
}

/// Inserts a value unless memory has a later revision; returns whether it did.
fn put<K: Ord, V>(map: &mut BTreeMap<K, Entry<V>>, key: K, revision: Sequence, value: V) -> bool {
    if map
        .get(&key)
        .is_some_and(|entry| entry.revision >= revision)
    {
        return false;
    }
    map.insert(key, Entry { revision, value });
    true
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
        let tenant = Tenant {
            tenant_id: "acme".to_owned(),
            display_name: name.to_owned(),
            ..Tenant::default()
        };
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
            assert_eq!(
                entries.apply(key, Sequence(1), value),
                Err(Corrupt),
                "{key}"
            );
        };
        check("tenant.acme", &[]);
        check("tenant.acme", b"\xff\xff");
        check("secret.acme", &TenantSecret::default().encode_to_vec());
        check("revoked.acme", &RevokedTokens::default().encode_to_vec());
        check(
            "webhook.acme.bot",
            &WebhookSecrets::default().encode_to_vec(),
        );
        check("agent.bot", &tenant("an agent without a tenant")[..4]);
        check("apikey.00", &ApiKey::default().encode_to_vec());
        check("signing.acme.a", &SigningKey::default().encode_to_vec());
        check("token.00", &ServiceToken::default().encode_to_vec());
        check("unknown.kind", &tenant("x"));
        check("nodot", &tenant("x"));
    }
}
