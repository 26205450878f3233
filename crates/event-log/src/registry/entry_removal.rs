//! Removal of entries from the registry's memory, by their removal markers.

use std::collections::BTreeMap;

use domain::{AgentId, Sequence, SigningKeyId, TenantId};

use super::entries::{Entries, Entry};
use super::error::Corrupt;
use super::secret::{Digest, id_of};

impl Entries {
    /// Drops the entry of a removal marker, unless memory has a later revision.
    pub(super) fn remove(&mut self, key: &str, revision: Sequence) -> Result<(), Corrupt> {
        let (kind, id) = key.split_once('.').ok_or(Corrupt)?;
        self.seals.forget(key);
        let second = || id.split_once('.').ok_or(Corrupt);
        match kind {
            "tenant" => drop_older(&mut self.tenants, &tenant_id(id)?, revision),
            "secret" => drop_older(&mut self.tenant_secrets, &tenant_id(id)?, revision),
            "agent" => {
                let agent = AgentId::parse(id).map_err(|_| Corrupt)?;
                drop_older(&mut self.agents, &agent, revision);
            }
            "revoked" => drop_older(&mut self.revoked_tokens, &tenant_id(id)?, revision),
            "webhook" => {
                let (_, agent) = second()?;
                let agent = AgentId::parse(agent).map_err(|_| Corrupt)?;
                drop_older(&mut self.webhook_secrets, &agent, revision);
            }
            "policy" => {
                let (tenant, digest) = second()?;
                let key = (tenant_id(tenant)?, digest_of(digest)?);
                drop_older(&mut self.context_policies, &key, revision);
            }
            "signing" => {
                let (tenant, id) = second()?;
                let id = SigningKeyId::parse(id).map_err(|_| Corrupt)?;
                if let Some(theirs) = self.signing_keys.get_mut(&tenant_id(tenant)?) {
                    drop_older(theirs, &id, revision);
                }
            }
            "apikey" => {
                let digest = digest_of(id)?;
                drop_older(&mut self.api_keys, &id_of(&digest), revision);
                self.frontend_keys.remove(&digest);
            }
            "token" => {
                let digest = digest_of(id)?;
                drop_older(&mut self.service_tokens, &id_of(&digest), revision);
                self.principals.remove(&digest);
            }
            _ => return Err(Corrupt),
        }
        Ok(())
    }
}

fn tenant_id(text: &str) -> Result<TenantId, Corrupt> {
    TenantId::parse(text).map_err(|_| Corrupt)
}

fn digest_of(text: &str) -> Result<Digest, Corrupt> {
    let mut digest = Digest::default();
    hex::decode_to_slice(text, &mut digest).map_err(|_| Corrupt)?;
    Ok(digest)
}

fn drop_older<K: Ord, V>(map: &mut BTreeMap<K, Entry<V>>, key: &K, revision: Sequence) {
    if map.get(key).is_some_and(|entry| entry.revision < revision) {
        map.remove(key);
    }
}
