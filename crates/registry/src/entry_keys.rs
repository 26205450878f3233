//! The keys of the registry's entries in its bucket.

use domain::{AgentId, SigningKeyId, TenantId};

use crate::Digest;

pub(crate) fn tenant_key(tenant: &TenantId) -> String {
    format!("tenant.{tenant}")
}

pub(crate) fn tenant_secret_key(tenant: &TenantId) -> String {
    format!("secret.{tenant}")
}

/// Without the tenant, because agent ids are unique in the record.
pub(crate) fn agent_key(agent: &AgentId) -> String {
    format!("agent.{agent}")
}

pub(crate) fn policy_key(tenant: &TenantId, digest: &Digest) -> String {
    format!("policy.{tenant}.{}", hex::encode(digest))
}

pub(crate) fn api_key_key(digest: &[u8]) -> String {
    format!("apikey.{}", hex::encode(digest))
}

/// Neither id contains a dot.
pub(crate) fn signing_key_key(tenant: &TenantId, id: &SigningKeyId) -> String {
    format!("signing.{tenant}.{id}")
}

pub(crate) fn revoked_tokens_key(tenant: &TenantId) -> String {
    format!("revoked.{tenant}")
}

/// Neither id contains a dot.
pub(crate) fn webhook_secrets_key(tenant: &TenantId, agent: &AgentId) -> String {
    format!("webhook.{tenant}.{agent}")
}

pub(crate) fn service_token_key(digest: &[u8]) -> String {
    format!("token.{}", hex::encode(digest))
}
