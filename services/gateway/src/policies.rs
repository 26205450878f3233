//! Finds and caches compiled context policies: the caller's, the agent's, or one that the tenant has set before.

use std::sync::Arc;

use context::policy::PolicyError;
use context::{DEFAULT_POLICY, Policy, PolicyDigest};
use domain::{AgentId, TenantId, Violation, ViolationReason};
use event_log::Registry;
use quick_cache::sync::Cache;
use redact::Rules;
use wire::proto::read::v1::assemble_context_request::Policy as RequestedPolicy;
use wire::status::{Problem, Reason};

/// Maximum number of cached policies. Compiling a policy takes about a millisecond.
pub const POLICIES_READY_MAX: usize = 1_000;

/// A compiled policy.
#[derive(Debug)]
pub struct ReadyPolicy {
    /// The policy.
    pub policy: Policy,
    /// Its digest.
    pub digest: PolicyDigest,
    /// Its compiled redaction rules.
    pub rules: Rules,
}

/// A cache of policies by digest. Equal digests mean equal policies, so tenants can share the cache.
#[derive(Debug)]
pub struct Policies(Cache<PolicyDigest, Arc<ReadyPolicy>>);

impl Default for Policies {
    fn default() -> Self {
        Self(Cache::new(POLICIES_READY_MAX))
    }
}

impl Policies {
    /// The requested policy; without one the agent's policy, or the default.
    ///
    /// # Errors
    /// The requested policy is invalid, or the agent's tenant has not set a policy with this digest.
    pub async fn find(
        &self,
        registry: &Registry,
        tenant: &TenantId,
        agent: &AgentId,
        requested: Option<RequestedPolicy>,
    ) -> Result<Arc<ReadyPolicy>, Problem> {
        let bytes = match requested {
            Some(RequestedPolicy::PolicyJson(json)) => {
                let policy = Policy::parse(&json).map_err(invalid)?;
                return self.compile(policy.digest(), || Ok(policy));
            }
            Some(RequestedPolicy::PolicyDigest(digest)) => digest,
            None => match registry.agent(agent) {
                Some(agent) if !agent.context_policy_digest.is_empty() => agent.context_policy_digest,
                Some(_) | None => return self.default(),
            },
        };
        let digest = bytes.as_ref().try_into().map_err(|_| {
            let rule = "is not 32 bytes: send the SHA-256 from a receipt";
            Violation::new(ViolationReason::Malformed, rule).within("policy_digest")
        })?;
        if PolicyDigest(digest) == DEFAULT_POLICY.digest {
            // Receipts of agents without a policy name the default policy, which no tenant has set.
            return self.default();
        }
        let stored = registry.context_policy(tenant, &digest).await.ok_or_else(unknown)?;
        self.compile(PolicyDigest(digest), || Policy::parse(&stored.policy_json).map_err(invalid))
    }

    fn default(&self) -> Result<Arc<ReadyPolicy>, Problem> {
        self.compile(DEFAULT_POLICY.digest, || Ok(DEFAULT_POLICY.policy.clone()))
    }

    fn compile(
        &self,
        digest: PolicyDigest,
        policy: impl FnOnce() -> Result<Policy, Problem>,
    ) -> Result<Arc<ReadyPolicy>, Problem> {
        self.0.get_or_insert_with(&digest, || {
            let policy = policy()?;
            let rules = Rules::compile(&policy.redact).map_err(|error| invalid(vec![error.into()]))?;
            Ok(Arc::new(ReadyPolicy { policy, digest, rules }))
        })
    }
}

fn invalid(errors: Vec<PolicyError>) -> Problem {
    Problem::from_violations("policy_json", errors)
}

fn unknown() -> Problem {
    Problem::of_field(
        Reason::RegistryEntryNotFound,
        "policy_digest",
        "is not the digest of a policy that the agent's tenant has set: send policy_json instead",
    )
}
