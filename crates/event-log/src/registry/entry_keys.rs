//! The keys of the registry's entries in its bucket.

use domain::{AgentId, SigningKeyId, TenantId};

use super::secret::Digest;

/// The key of a tenant in the bucket.
pub(super) fn tenant_key(tenant: &TenantId) -> String {
    format!("tenant.{tenant}")
}

/// The key of a tenant's root secret in the bucket.
pub(super) fn tenant_secret_key(tenant: &TenantId) -> String {
    format!("secret.{tenant}")
}

/// The key of an agent in the bucket: without its tenant, so that no other can have the id.
pub(super) fn agent_key(agent: &AgentId) -> String {
    format!("agent.{agent}")
}

/// The key of a tenant's context policy in the bucket.
pub(super) fn policy_key(tenant: &TenantId, digest: &Digest) -> String {
    format!("policy.{tenant}.{}", hex::encode(digest))
}

/// The key of an API key in the bucket.
pub(super) fn api_key_key(digest: &[u8]) -> String {
    format!("apikey.{}", hex::encode(digest))
}

/// The key of a signing key in the bucket: neither id has a dot in it.
pub(super) fn signing_key_key(tenant: &TenantId, id: &SigningKeyId) -> String {
    format!("signing.{tenant}.{id}")
}

/// The key of a tenant's revoked tokens in the bucket.
pub(super) fn revoked_tokens_key(tenant: &TenantId) -> String {
    format!("revoked.{tenant}")
}

/// The key of the secrets of an agent's webhooks in the bucket: neither id has a dot in it.
pub(super) fn webhook_secrets_key(tenant: &TenantId, agent: &AgentId) -> String {
    format!("webhook.{tenant}.{agent}")
}

/// The key of a service token in the bucket.
pub(super) fn service_token_key(digest: &[u8]) -> String {
    format!("token.{}", hex::encode(digest))
}
