//! The stream of logged and metered calls of model servers, one for all conversations.
//!
//! It is optional: on a server without room for it, only the log and the metering are off, and a warning is logged.

use async_nats::jetstream::stream::Config;
use domain::{ConversationKey, OwnerDigest, TenantId};
use tokio::time::Instant;

use super::{ensure, key};
use crate::connection::Connection;
use crate::error::RecordError;

pub(crate) const STREAM: &str = "HANSARD_LOGS";
/// The subject token of calls without an owner.
const NOBODY: &str = "nobody";
/// All subjects of the stream.
pub(super) const SUBJECTS: &str = "hansard_logs.>";

/// The subject of a conversation's logged calls.
pub(crate) fn subject(key: &ConversationKey) -> String {
    format!("hansard_logs.{}.{}", key.tenant, key.conversation)
}

/// The conversation of a subject; `None`: not a conversation's subject.
pub(crate) fn key_of(subject: &str) -> Option<ConversationKey> {
    let (tenant, conversation) = subject.strip_prefix("hansard_logs.")?.split_once('.')?;
    key(tenant, conversation)
}

/// The subject of a tenant's metered calls with or without an owner. It has one token more than a conversation's subject.
pub(crate) fn usage_subject(tenant: &TenantId, owner: Option<&OwnerDigest>) -> String {
    let owner = owner.map_or(NOBODY, OwnerDigest::as_str);
    format!("hansard_logs.{tenant}.usage.{owner}")
}

/// The subject of a tenant's corrections of usage with or without an owner. Programs before it skip the subject.
pub(crate) fn correction_subject(tenant: &TenantId, owner: Option<&OwnerDigest>) -> String {
    let owner = owner.map_or(NOBODY, OwnerDigest::as_str);
    format!("hansard_logs.{tenant}.correction.{owner}")
}

/// The subjects of all metered calls and corrections of a tenant, or of one of its owners.
pub(crate) fn usage_subjects(tenant: &TenantId, owner: Option<&OwnerDigest>) -> [String; 2] {
    match owner {
        Some(_) => [usage_subject(tenant, owner), correction_subject(tenant, owner)],
        None => [format!("hansard_logs.{tenant}.usage.*"), format!("hansard_logs.{tenant}.correction.*")],
    }
}

/// The tenant of a subject of metered calls; `None`: another subject.
pub(crate) fn metered_tenant_of(subject: &str) -> Option<TenantId> {
    tenant_of(subject, "usage.")
}

/// The tenant of a subject of corrections; `None`: another subject.
pub(crate) fn corrected_tenant_of(subject: &str) -> Option<TenantId> {
    tenant_of(subject, "correction.")
}

fn tenant_of(subject: &str, kind: &str) -> Option<TenantId> {
    let (tenant, rest) = subject.strip_prefix("hansard_logs.")?.split_once('.')?;
    let owner = rest.strip_prefix(kind)?;
    let is_owner = owner == NOBODY || OwnerDigest::parse(owner).is_ok();
    TenantId::parse(tenant).ok().filter(|_| is_owner)
}

/// Creates the stream if the server has room for it.
pub(super) async fn create(connection: &Connection, config: Config, deadline: Instant) -> Result<(), RecordError> {
    match ensure(connection, config, deadline).await {
        Err(RecordError::Refused { what, reason }) => {
            tracing::warn!(
                what,
                reason,
                "calls of model servers are neither logged nor metered: the server rejected their stream"
            );
            Ok(())
        }
        outcome => outcome.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(subject_of: &str, expected: Option<(&str, &str)>) {
        let key = key_of(subject_of);
        let key_ref = key.as_ref();
        let names = key_ref.map(|key| (key.tenant.as_str(), key.conversation.as_str()));
        assert_eq!(names, expected, "{subject_of}");
        if let Some(key) = key {
            assert_eq!(subject(&key), subject_of);
        }
    }

    #[test]
    fn subjects_name_their_conversations() {
        check("hansard_logs.acme.c:1", Some(("acme", "c:1")));
        check("hansard_logs.acme", None);
        check("hansard_logs.acme.c.d", None);
        check("hansard.acme.c", None);
    }

    #[test]
    fn subjects_of_usage_name_their_tenants() {
        let tenant = TenantId::parse("acme").unwrap();
        let owner = OwnerDigest::parse(&"a0".repeat(16)).unwrap();
        for owner in [None, Some(&owner)] {
            let (call, correction) = (usage_subject(&tenant, owner), correction_subject(&tenant, owner));
            assert_eq!(metered_tenant_of(&call).as_ref(), Some(&tenant));
            assert_eq!(corrected_tenant_of(&correction).as_ref(), Some(&tenant));
            assert_eq!((metered_tenant_of(&correction), corrected_tenant_of(&call)), (None, None));
            assert_eq!((key_of(&call), key_of(&correction)), (None, None));
        }
        for kind in ["usage", "correction", "c"] {
            for other in ["", ".x", ".nobody.x", ".Nobody"] {
                let other = format!("hansard_logs.acme.{kind}{other}");
                assert_eq!((metered_tenant_of(&other), corrected_tenant_of(&other)), (None, None), "{other}");
            }
        }
    }
}
