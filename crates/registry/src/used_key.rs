//! Keys that are used, and their last uses. Pure, but for [`RecentUses`].

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use domain::{SigningKeyId, TenantId, Timestamp};
use wire::proto::operate::v1 as proto;
use wire::time;

use crate::KeyKind;

/// A key that can be used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UsedKey {
    /// An API key, by its id.
    ApiKey(String),
    /// A service token, by its id.
    ServiceToken(String),
    /// A signing key, by its tenant and its id.
    SigningKey(TenantId, SigningKeyId),
}

/// Last uses, by key.
pub type KeyUses = BTreeMap<UsedKey, Timestamp>;

/// The uses since they were last taken: at most one for each valid key.
#[derive(Debug, Default)]
pub(crate) struct RecentUses(pub(crate) Mutex<HashMap<UsedKey, Timestamp>>);

impl UsedKey {
    /// The use of a message; `None`: it names no key that can exist.
    fn from_proto(used: &proto::KeyUse) -> Option<(Self, Timestamp)> {
        let id = used.key_id.as_str();
        let key = match KeyKind::from_proto(used.kind())? {
            KeyKind::ApiKey => Self::ApiKey(id.to_owned()),
            KeyKind::ServiceToken => Self::ServiceToken(id.to_owned()),
            KeyKind::SigningKey => {
                let tenant = TenantId::parse(used.tenant_id.as_str()).ok()?;
                Self::SigningKey(tenant, SigningKeyId::parse(id).ok()?)
            }
        };
        Some((key, time::from_proto(used.last_used_at?).ok()?))
    }

    fn to_proto(&self, at: Timestamp) -> proto::KeyUse {
        let (kind, tenant, id) = match self {
            Self::ApiKey(id) => (KeyKind::ApiKey, "", id.as_str()),
            Self::ServiceToken(id) => (KeyKind::ServiceToken, "", id.as_str()),
            Self::SigningKey(tenant, id) => (KeyKind::SigningKey, tenant.as_str(), id.as_str()),
        };
        proto::KeyUse {
            kind: proto::KeyKind::from(kind).into(),
            tenant_id: tenant.to_owned(),
            key_id: id.to_owned(),
            last_used_at: Some(time::to_proto(at)),
        }
    }
}

/// The uses of messages. Those of keys that cannot exist are left out.
#[must_use]
pub fn key_uses_from_proto(uses: &[proto::KeyUse]) -> KeyUses {
    uses.iter().filter_map(UsedKey::from_proto).collect()
}

/// The messages of uses.
#[must_use]
pub fn key_uses_to_proto(uses: &KeyUses) -> Vec<proto::KeyUse> {
    uses.iter().map(|(key, at)| key.to_proto(*at)).collect()
}
