//! Taking a tenant out of the registry: what lets its callers in goes first, then the tenant itself. Its root secret is
//! last: a writer that starts meanwhile makes a secret only for a tenant that is there.
//!
//! Every other process must hear that an entry is gone, which the deletion of a message tells nobody. So a mark is put
//! under `gone.`, and then the entry's bytes are overwritten: a crash in between leaves an entry that the next call finds.

use std::collections::BTreeMap;

use domain::{Sequence, TenantId};
use prost::Message;
use wire::proto::operate::v1::{Agent, ApiKey, ServiceToken};

use super::bucket::Change;
use super::entry_keys::tenant_key;
use super::{CHANGES_MAX, Registry};
use crate::error::Unavailable;
use crate::get::RawMessage;
use crate::topology::{REGISTRY_PREFIX, REGISTRY_STREAM};

/// The kinds of entries that a tenant has, in the order in which they go.
const KINDS: [&str; 9] = [
    "token", "apikey", "signing", "webhook", "revoked", "agent", "policy", "tenant", "secret",
];

impl Registry {
    /// How many entries of each kind a tenant has, as the bucket's leader knows them. Kinds: `token`, `apikey`, `signing`,
    /// `webhook`, `revoked`, `agent`, `policy`, `tenant`, `secret`.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn entries_of_tenant(
        &self,
        tenant: &TenantId,
    ) -> Result<BTreeMap<String, u64>, Unavailable> {
        let mut counts = BTreeMap::new();
        for (kind, key) in self.keys().await? {
            if self.is_of_tenant(kind, &key, tenant).await?.is_some() {
                *counts.entry(kind.to_owned()).or_default() += 1;
            }
        }
        Ok(counts)
    }

    /// Whether a tenant has an entry, or had a tenant's own until it was removed.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn has_known(&self, tenant: &TenantId) -> Result<bool, Unavailable> {
        let mark = mark_of(&tenant_key(tenant));
        let was_removed = self.shared().read_leader(&mark).await?.is_some();
        Ok(was_removed || !self.entries_of_tenant(tenant).await?.is_empty())
    }

    /// Removes all entries of a tenant for good; how many of each kind. From now on nobody gets in for it, here at once
    /// and everywhere within moments. Done twice, it is done.
    ///
    /// # Errors
    /// [`Unavailable`]: call again until it succeeds.
    pub async fn remove_tenant(
        &self,
        tenant: &TenantId,
    ) -> Result<BTreeMap<String, u64>, Unavailable> {
        let mut counts = BTreeMap::new();
        for (kind, key) in self.keys().await? {
            if let Some(revision) = self.is_of_tenant(kind, &key, tenant).await? {
                self.remove_entry(&key, revision).await?;
                *counts.entry(kind.to_owned()).or_default() += 1;
            }
        }
        Ok(counts)
    }

    /// The keys of all entries of a tenant's kinds, in the order of [`KINDS`].
    async fn keys(&self) -> Result<Vec<(&'static str, String)>, Unavailable> {
        let record = &self.shared().record;
        let mut keys = Vec::new();
        for kind in KINDS {
            let filter = format!("{REGISTRY_PREFIX}{kind}.>");
            let subjects = record.subjects(REGISTRY_STREAM, &filter).await?;
            let names = subjects.into_keys();
            let names =
                names.filter_map(|subject| Some(subject.strip_prefix(REGISTRY_PREFIX)?.to_owned()));
            keys.extend(names.map(|key| (kind, key)));
        }
        Ok(keys)
    }

    /// The revision of an entry that is a tenant's.
    async fn is_of_tenant(
        &self,
        kind: &str,
        key: &str,
        tenant: &TenantId,
    ) -> Result<Option<Sequence>, Unavailable> {
        // These name their tenant, so others need not be read.
        let named = matches!(
            kind,
            "signing" | "webhook" | "revoked" | "secret" | "policy" | "tenant"
        );
        if named && key.split('.').nth(1) != Some(tenant.as_str()) {
            return Ok(None);
        }
        let entry = self.shared().read_leader(key).await?;
        let entry = entry
            .filter(|entry| named || tenant_of(kind, entry).as_deref() == Some(tenant.as_str()));
        Ok(entry.map(|entry| entry.sequence))
    }

    async fn remove_entry(&self, key: &str, revision: Sequence) -> Result<(), Unavailable> {
        let shared = self.shared();
        let mark = mark_of(key);
        for _ in 0..CHANGES_MAX {
            let before = shared.read_leader(&mark).await?.map(|mark| mark.sequence);
            if shared.put(&mark, &(), before).await? == Change::Made {
                let erased = shared.record.erase_message(REGISTRY_STREAM, revision);
                return erased.await.map(drop);
            }
        }
        Err(Unavailable::new("an entry's mark keeps changing"))
    }
}

/// The key of the mark that an entry is gone.
fn mark_of(key: &str) -> String {
    format!("gone.{key}")
}

/// The tenant that an entry names; an entry that cannot be read is nobody's.
fn tenant_of(kind: &str, entry: &RawMessage) -> Option<String> {
    let bytes = entry.payload.clone();
    match kind {
        "token" => ServiceToken::decode(bytes)
            .ok()
            .map(|token| token.tenant_id),
        "apikey" => ApiKey::decode(bytes).ok().map(|key| key.tenant_id),
        "agent" => Agent::decode(bytes).ok().map(|agent| agent.tenant_id),
        _ => None,
    }
}
