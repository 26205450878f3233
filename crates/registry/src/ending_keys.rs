//! Keys that end soon, and expired keys that nobody revoked: for warnings.

use std::time::Duration;

use domain::Timestamp;
use wire::proto::operate::v1::{ApiKey, ServiceToken, SigningKey};
use wire::time;

use crate::{KeyKind, Registry};

/// The time before its end from which a key is reported.
pub const KEY_END_WARNING: Duration = Duration::from_hours(14 * 24);

/// A key that ends within [`KEY_END_WARNING`], or has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndingKey {
    /// Its end.
    pub ends_at: Timestamp,
    /// Its kind.
    pub kind: KeyKind,
    /// Its id.
    pub id: String,
    /// Its tenant; empty: a service token of all tenants.
    pub tenant: String,
}

impl EndingKey {
    /// Whether it has ended.
    #[must_use]
    pub fn has_ended(&self, now: Timestamp) -> bool {
        self.ends_at <= now
    }
}

/// Whether this end of a key is reported: it is near, or has passed.
#[must_use]
pub fn ends_soon(end: Timestamp, now: Timestamp) -> bool {
    let warning = i64::try_from(KEY_END_WARNING.as_nanos()).unwrap_or(i64::MAX);
    end.0.saturating_sub(now.0) <= warning
}

impl Registry {
    /// The keys that end soon or have ended, by their end. Revoked and retired keys are left out, and API keys that a rotation
    /// replaced: somebody has decided about their end.
    #[must_use]
    pub fn ending_keys(&self, now: Timestamp) -> Vec<EndingKey> {
        let mut ending = self.shared().read(|entries| {
            let api_keys = entries.api_keys.values().filter_map(|entry| of_api_key(&entry.value));
            let tokens = entries.service_tokens.values().filter_map(|entry| of_service_token(&entry.value));
            let signing_keys = entries.signing_keys.values().flat_map(|theirs| theirs.values());
            let signing_keys = signing_keys.filter_map(|entry| of_signing_key(&entry.value));
            let all = api_keys.chain(tokens).chain(signing_keys);
            all.filter(|key| ends_soon(key.ends_at, now)).collect::<Vec<_>>()
        });
        ending.sort_by(|one, other| (one.ends_at, &one.id).cmp(&(other.ends_at, &other.id)));
        ending
    }
}

fn of_api_key(key: &ApiKey) -> Option<EndingKey> {
    let is_decided = key.revoked_at.is_some() || !key.replaced_by.is_empty();
    ending(KeyKind::ApiKey, &key.api_key_id, &key.tenant_id, key.expires_at.filter(|_| !is_decided))
}

fn of_service_token(token: &ServiceToken) -> Option<EndingKey> {
    let end = token.expires_at.filter(|_| token.revoked_at.is_none());
    ending(KeyKind::ServiceToken, &token.service_token_id, &token.tenant_id, end)
}

fn of_signing_key(key: &SigningKey) -> Option<EndingKey> {
    let end = key.expires_at.filter(|_| key.retired_at.is_none());
    ending(KeyKind::SigningKey, &key.signing_key_id, &key.tenant_id, end)
}

/// `None`: the key has no end. A key with an invalid time is treated as ended.
fn ending(kind: KeyKind, id: &str, tenant: &str, end: Option<prost_types::Timestamp>) -> Option<EndingKey> {
    let ends_at = time::from_proto(end?).unwrap_or(Timestamp(0));
    Some(EndingKey { ends_at, kind, id: id.to_owned(), tenant: tenant.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000_000_000_000_000);

    #[test]
    fn keys_are_near_their_end_for_two_weeks() {
        let warning = i64::try_from(KEY_END_WARNING.as_nanos()).unwrap();
        assert!(ends_soon(Timestamp(NOW.0 + warning), NOW));
        assert!(!ends_soon(Timestamp(NOW.0 + warning + 1), NOW));
        assert!(ends_soon(Timestamp(0), NOW));
    }

    #[test]
    fn nobody_is_warned_of_an_end_that_was_decided() {
        let (end, other) = (Some(time::to_proto(NOW)), Some(time::to_proto(Timestamp(1))));
        let key = ApiKey { expires_at: end, ..ApiKey::default() };
        assert!(of_api_key(&key).is_some());
        assert!(of_api_key(&ApiKey { expires_at: None, ..key.clone() }).is_none());
        assert!(of_api_key(&ApiKey { revoked_at: other, ..key.clone() }).is_none());
        assert!(of_api_key(&ApiKey { replaced_by: "next".to_owned(), ..key }).is_none());
        let token = ServiceToken { expires_at: end, ..ServiceToken::default() };
        assert!(of_service_token(&token).is_some());
        assert!(of_service_token(&ServiceToken { revoked_at: other, ..token }).is_none());
        let key = SigningKey { expires_at: end, ..SigningKey::default() };
        assert!(of_signing_key(&key).is_some());
        assert!(of_signing_key(&SigningKey { retired_at: other, ..key }).is_none());
    }
}
