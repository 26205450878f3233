//! Removal of entries from the registry's memory, by their removal markers.

use std::collections::BTreeMap;

use domain::{AgentId, Sequence, SigningKeyId, TenantId};

use crate::error::Corrupt;
use crate::secret::id_of;
use crate::{Digest, Entries, Entry};

impl Entries {
    /// Drops the entry of a removal marker, unless memory has a later revision.
    pub(crate) fn remove(&mut self, key: &str, revision: Sequence) -> Result<(), Corrupt> {
        let (kind, id) = key.split_once('.').ok_or(Corrupt)?;
        self.seals.forget(key);
        let second = || id.split_once('.').ok_or(Corrupt);
        match kind {
            "tenant" => drop_older(&mut self.tenants, &TenantId::parse(id)?, revision),
            "secret" => drop_older(&mut self.tenant_secrets, &TenantId::parse(id)?, revision),
            "agent" => drop_older(&mut self.agents, &AgentId::parse(id)?, revision),
            "revoked" => drop_older(&mut self.revoked_tokens, &TenantId::parse(id)?, revision),
            "webhook" => {
                let agent = AgentId::parse(second()?.1)?;
                drop_older(&mut self.webhook_secrets, &agent, revision);
            }
            "policy" => {
                let (tenant, digest) = second()?;
                let key = (TenantId::parse(tenant)?, digest_of(digest)?);
                drop_older(&mut self.context_policies, &key, revision);
            }
            "signing" => {
                let (tenant, id) = second()?;
                let id = SigningKeyId::parse(id)?;
                if let Some(theirs) = self.signing_keys.get_mut(&TenantId::parse(tenant)?) {
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
