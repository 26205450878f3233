//! Removes a tenant from the registry: first the credentials of its callers, then the tenant, and last its root secret. A
//! writer that starts meanwhile creates a secret only for an existing tenant.
//!
//! The deletion of a message notifies no other process. Therefore a removal marker is put under `gone.` first, and then
//! the entry's bytes are overwritten. A crash in between leaves an entry that the next call finds.

use std::collections::BTreeMap;

use domain::{Sequence, TenantId};
use event_log::{BucketEntry, Unavailable};
use prost::Message;
use wire::proto::operate::v1::{Agent, ApiKey, ServiceToken};

use crate::entry_keys::tenant_key;
use crate::{CHANGES_MAX, PutOutcome, Registry};

/// The kinds of a tenant's entries, in the order of their removal.
const KINDS: [&str; 9] = ["token", "apikey", "signing", "webhook", "revoked", "agent", "policy", "tenant", "secret"];

/// The kind of the last uses of a tenant's keys, which are in the restricted bucket.
const USED: &str = "used";

impl Registry {
    /// The number of entries of each kind of a tenant, from the bucket's leader. Kinds: `token`, `apikey`, `signing`,
    /// `webhook`, `revoked`, `agent`, `policy`, `tenant`, `secret`, and `used` for the last uses of its keys.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn count_tenant_entries(&self, tenant: &TenantId) -> Result<BTreeMap<String, u64>, Unavailable> {
        let mut counts = BTreeMap::new();
        for (kind, key) in self.keys().await? {
            if self.revision_of_tenant(kind, &key, tenant).await?.is_some() {
                *counts.entry(kind.to_owned()).or_default() += 1;
            }
        }
        if self.has_uses_of(tenant).await? {
            counts.insert(USED.to_owned(), 1);
        }
        Ok(counts)
    }

    /// Whether a tenant has entries, or was removed.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn has_or_had_tenant(&self, tenant: &TenantId) -> Result<bool, Unavailable> {
        let marker = marker_key(&tenant_key(tenant));
        let was_removed = self.shared().read_leader(&marker).await?.is_some();
        Ok(was_removed || !self.count_tenant_entries(tenant).await?.is_empty())
    }

    /// Removes all entries of a tenant; returns how many of each kind. Its callers are rejected at once here, and shortly after
    /// in other processes. Idempotent.
    ///
    /// # Errors
    /// [`Unavailable`]: call again until it succeeds.
    pub async fn remove_tenant(&self, tenant: &TenantId) -> Result<BTreeMap<String, u64>, Unavailable> {
        let mut counts = BTreeMap::new();
        for (kind, key) in self.keys().await? {
            if let Some(revision) = self.revision_of_tenant(kind, &key, tenant).await? {
                self.remove_entry(&key, revision).await?;
                *counts.entry(kind.to_owned()).or_default() += 1;
            }
        }
        // Last: a writer stores no uses of keys that it knows to be removed.
        if self.erase_uses_of(tenant).await? {
            counts.insert(USED.to_owned(), 1);
        }
        Ok(counts)
    }

    /// The keys of all entries of these kinds, in the order of [`KINDS`].
    async fn keys(&self) -> Result<Vec<(&'static str, String)>, Unavailable> {
        let mut keys = Vec::new();
        for kind in KINDS {
            keys.extend(self.shared().bucket.keys(kind).await?.into_iter().map(|key| (kind, key)));
        }
        Ok(keys)
    }

    /// The revision of an entry, if the entry belongs to the tenant.
    async fn revision_of_tenant(
        &self,
        kind: &str,
        key: &str,
        tenant: &TenantId,
    ) -> Result<Option<Sequence>, Unavailable> {
        // The keys of these kinds contain the tenant, so entries of other tenants need not be read.
        let key_has_tenant = matches!(kind, "signing" | "webhook" | "revoked" | "secret" | "policy" | "tenant");
        if key_has_tenant && key.split('.').nth(1) != Some(tenant.as_str()) {
            return Ok(None);
        }
        let entry = self
            .shared()
            .read_leader(key)
            .await?
            .filter(|entry| key_has_tenant || tenant_of(kind, entry).as_deref() == Some(tenant.as_str()));
        Ok(entry.map(|entry| entry.revision))
    }

    async fn remove_entry(&self, key: &str, revision: Sequence) -> Result<(), Unavailable> {
        let shared = self.shared();
        let marker = marker_key(key);
        for _ in 0..CHANGES_MAX {
            let before = shared.read_leader(&marker).await?.map(|marker| marker.revision);
            if shared.put(&marker, &(), before).await? == PutOutcome::Stored {
                return shared.bucket.erase(revision).await.map(drop);
            }
        }
        Err(Unavailable::new("a removal marker keeps changing"))
    }
}

fn marker_key(key: &str) -> String {
    format!("gone.{key}")
}

/// The tenant of an entry; `None` for an entry that cannot be decoded.
fn tenant_of(kind: &str, entry: &BucketEntry) -> Option<String> {
    let bytes = entry.value.clone();
    match kind {
        "token" => ServiceToken::decode(bytes).ok().map(|token| token.tenant_id),
        "apikey" => ApiKey::decode(bytes).ok().map(|key| key.tenant_id),
        "agent" => Agent::decode(bytes).ok().map(|agent| agent.tenant_id),
        _ => None,
    }
}
