//! When keys were last used.
//!
//! The process that authenticates a caller remembers the use in memory. A background task takes these uses and hands them to a
//! writer, which stores them: one entry of the restricted bucket for each tenant, and one for service tokens of all tenants. So
//! neither the entries of the keys nor the watchers of the registry see them.

use std::collections::BTreeMap;
use std::mem;
use std::sync::PoisonError;

use bytes::Bytes;
use domain::{Sequence, TenantId, Timestamp};
use event_log::{Bucket, BucketEntry, BucketPut, Unavailable};
use prost::Message as _;
use wire::proto::operate::v1 as proto;

use crate::used_key::{KeyUses, UsedKey, key_uses_from_proto, key_uses_to_proto};
use crate::{CHANGES_MAX, Entries, Registry};

/// Maximum number of keys in one entry, and in one report. Of more keys, those that were used last are kept.
pub const KEY_USES_MAX: usize = 4_096;

/// Whose key it is. The keys of each owner share an entry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyOwner {
    /// A tenant.
    Tenant(TenantId),
    /// Nobody: a service token of all tenants.
    AllTenants,
}

impl KeyOwner {
    /// The owner by the id of a tenant, which is empty for a service token of all tenants; `None`: it is no id.
    #[must_use]
    pub fn from_tenant_id(id: &str) -> Option<Self> {
        if id.is_empty() {
            return Some(Self::AllTenants);
        }
        TenantId::parse(id).ok().map(Self::Tenant)
    }

    /// No id of a tenant has a dot.
    fn entry_key(&self) -> String {
        match self {
            Self::Tenant(tenant) => format!("used.tenant.{tenant}"),
            Self::AllTenants => "used.all".to_owned(),
        }
    }
}

impl Registry {
    /// Remembers that a key was used.
    pub fn key_used(&self, key: UsedKey, at: Timestamp) {
        let mut uses = self.shared().recent_uses.0.lock().unwrap_or_else(PoisonError::into_inner);
        uses.insert(key, at);
    }

    /// The uses since the last call, at most [`KEY_USES_MAX`]: of more keys, those that were used last.
    #[must_use]
    pub fn take_key_uses(&self) -> KeyUses {
        let mut uses = self.shared().recent_uses.0.lock().unwrap_or_else(PoisonError::into_inner);
        latest(mem::take(&mut *uses).into_iter().collect())
    }

    /// Stores uses of keys that `sees` allows by their owners. Returns the number of these uses. Missing keys and others are left
    /// out.
    ///
    /// # Errors
    /// [`Unavailable`]: the uses of some tenants may be stored.
    pub async fn store_key_uses(&self, uses: KeyUses, sees: impl Fn(&KeyOwner) -> bool) -> Result<usize, Unavailable> {
        let mut of_owners: BTreeMap<KeyOwner, KeyUses> = BTreeMap::new();
        self.shared().read(|entries| {
            for (key, at) in uses {
                if let Some(owner) = owner_of(&key, entries).filter(&sees) {
                    of_owners.entry(owner).or_default().insert(key, at);
                }
            }
        });
        let mut count = 0;
        for (owner, uses) in of_owners {
            count += uses.len();
            self.store_uses_of(&owner, uses).await?;
        }
        Ok(count)
    }

    /// The stored uses of the keys of an owner, from the leader.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn last_key_uses(&self, owner: &KeyOwner) -> Result<KeyUses, Unavailable> {
        let stored = self.stored_uses(&owner.entry_key()).await?;
        stored.map_or_else(|| Ok(KeyUses::new()), |entry| decode(&entry))
    }

    async fn store_uses_of(&self, owner: &KeyOwner, uses: KeyUses) -> Result<(), Unavailable> {
        let key = owner.entry_key();
        self.shared().record.ensure_restricted_bucket().await?;
        for _ in 0..CHANGES_MAX {
            let stored = self.stored_uses(&key).await?;
            let revision = stored.as_ref().map(|entry| entry.revision);
            let current = stored.map_or_else(|| Ok(KeyUses::new()), |entry| decode(&entry))?;
            let merged = self.merged(owner, &current, &uses);
            if merged == current || self.put_uses(&key, &merged, revision).await? {
                return Ok(());
            }
        }
        Err(Unavailable::new("the last uses of keys keep changing"))
    }

    /// The later one of both times, for keys that still exist.
    fn merged(&self, owner: &KeyOwner, current: &KeyUses, uses: &KeyUses) -> KeyUses {
        let mut merged = current.clone();
        for (key, at) in uses {
            let known = merged.entry(key.clone()).or_insert(*at);
            *known = (*known).max(*at);
        }
        self.shared().read(|entries| merged.retain(|key, _| owner_of(key, entries).as_ref() == Some(owner)));
        latest(merged)
    }

    async fn put_uses(&self, key: &str, uses: &KeyUses, expected: Option<Sequence>) -> Result<bool, Unavailable> {
        let entry = proto::KeyUses { uses: key_uses_to_proto(uses) };
        let value = Bytes::from(entry.encode_to_vec());
        let put = self.restricted().put(key, value, expected, "the bucket rejected last uses").await?;
        Ok(matches!(put, BucketPut::Stored(_)))
    }

    /// `None`: there is no entry, or no bucket yet.
    async fn stored_uses(&self, key: &str) -> Result<Option<BucketEntry>, Unavailable> {
        let bucket = self.restricted();
        if bucket.exists().await? { bucket.get(key).await } else { Ok(None) }
    }

    fn restricted(&self) -> Bucket {
        self.shared().record.restricted_bucket()
    }

    /// Erases the entry of a tenant. Returns whether there was one.
    pub(crate) async fn erase_uses_of(&self, tenant: &TenantId) -> Result<bool, Unavailable> {
        let Some(stored) = self.stored_uses(&KeyOwner::Tenant(tenant.clone()).entry_key()).await? else {
            return Ok(false);
        };
        self.restricted().erase(stored.revision).await
    }

    /// Whether a tenant has an entry.
    pub(crate) async fn has_uses_of(&self, tenant: &TenantId) -> Result<bool, Unavailable> {
        Ok(self.stored_uses(&KeyOwner::Tenant(tenant.clone()).entry_key()).await?.is_some())
    }
}

/// Whose key it is; `None`: there is no such key.
fn owner_of(key: &UsedKey, entries: &Entries) -> Option<KeyOwner> {
    let tenant = match key {
        UsedKey::ApiKey(id) => &entries.api_keys.get(id)?.value.tenant_id,
        UsedKey::ServiceToken(id) => &entries.service_tokens.get(id)?.value.tenant_id,
        UsedKey::SigningKey(tenant, id) => &entries.signing_keys.get(tenant)?.get(id)?.value.tenant_id,
    };
    KeyOwner::from_tenant_id(tenant)
}

fn decode(entry: &BucketEntry) -> Result<KeyUses, Unavailable> {
    let corrupt = |_| Unavailable::new("an entry with last uses of keys is corrupt");
    let entry = proto::KeyUses::decode(entry.value.clone()).map_err(corrupt)?;
    Ok(key_uses_from_proto(&entry.uses))
}

/// At most [`KEY_USES_MAX`] uses: the latest ones.
fn latest(uses: KeyUses) -> KeyUses {
    if uses.len() <= KEY_USES_MAX {
        return uses;
    }
    let mut all: Vec<(UsedKey, Timestamp)> = uses.into_iter().collect();
    all.sort_by_key(|(_, at)| std::cmp::Reverse(*at));
    all.truncate(KEY_USES_MAX);
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use domain::SigningKeyId;

    use super::*;

    fn uses(count: usize) -> KeyUses {
        let uses = (0..count).map(|number| {
            let at = Timestamp(i64::try_from(number).unwrap());
            (UsedKey::ApiKey(format!("{number:05}")), at)
        });
        uses.collect()
    }

    #[test]
    fn the_latest_uses_are_kept_at_the_bound_and_past_it() {
        assert_eq!(latest(uses(KEY_USES_MAX)).len(), KEY_USES_MAX);
        let kept = latest(uses(KEY_USES_MAX + 1));
        assert_eq!(kept.len(), KEY_USES_MAX);
        assert!(!kept.contains_key(&UsedKey::ApiKey("00000".to_owned())));
    }

    #[test]
    fn messages_keep_their_uses_and_drop_what_names_no_key() {
        let signing = UsedKey::SigningKey(TenantId::parse("acme").unwrap(), SigningKeyId::parse("a").unwrap());
        let token = UsedKey::ServiceToken("0123456789abcdef".to_owned());
        let uses = KeyUses::from([(signing, Timestamp(1)), (token, Timestamp(2))]);
        let mut messages = key_uses_to_proto(&uses);
        assert_eq!(key_uses_from_proto(&messages), uses);
        messages[0].last_used_at = None;
        messages[1].tenant_id = "not an id".to_owned();
        messages.push(proto::KeyUse::default());
        assert_eq!(key_uses_from_proto(&messages), KeyUses::new());
    }
}
