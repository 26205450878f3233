//! Finds and caches compiled context policies: the caller's, the agent's, or one that the tenant has set before.

use std::sync::{Arc, OnceLock};

use context::policy::PolicyError;
use context::{DEFAULT_POLICY, Policy, PolicyDigest};
use domain::{AgentId, TenantId, Violation, ViolationReason};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use redact::Rules;
use registry::Registry;
use runtime::compute::Compute;
use sha2::{Digest as _, Sha256};
use wire::proto::read::v1::assemble_context_request::Policy as RequestedPolicy;
use wire::status::{Problem, Reason};

use crate::problem::compute_busy;

/// Most bytes of all cached policies, compiled. The oldest that are not used often go first.
pub const POLICIES_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Usual bytes of a compiled policy without patterns of its own.
const POLICY_BYTES_USUAL: usize = 16 * 1024;
/// Policies that the cache has room for, if they have no patterns.
const POLICIES_LIKELY: usize = 4 * 1024;

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

impl ReadyPolicy {
    /// Compiles a policy under the digest by which it was set; `None`: its own.
    fn compile(json: &str, digest: Option<PolicyDigest>) -> Result<Arc<Self>, Problem> {
        let (policy, rules) = Policy::compile(json).map_err(invalid)?;
        let digest = digest.unwrap_or_else(|| policy.digest());
        Ok(Arc::new(Self { policy, digest, rules }))
    }

    /// Whether a context by this policy can take far longer than its events are long: it has patterns, or templates that repeat.
    #[must_use]
    pub fn is_costly(&self) -> bool {
        self.rules.has_patterns() || self.policy.has_costly_templates()
    }
}

/// A cached policy: its tenant, and what was given. A tenant can neither wait for nor look for the policies of others.
type CacheKey = (TenantId, Given);

/// How a policy was given. One that a request contains cannot be named by its digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Given {
    /// In the request: the SHA-256 of its text.
    Text([u8; 32]),
    /// By the digest of a policy that the tenant has set.
    Digest([u8; 32]),
}

#[derive(Debug, Clone, Copy)]
struct ByBytes;

impl Weighter<CacheKey, Arc<ReadyPolicy>> for ByBytes {
    fn weight(&self, _: &CacheKey, ready: &Arc<ReadyPolicy>) -> u64 {
        u64::try_from(POLICY_BYTES_USUAL + ready.rules.size_bytes()).unwrap_or(u64::MAX)
    }
}

/// A cache of compiled policies.
#[derive(Debug)]
pub struct Policies {
    default: OnceLock<Arc<ReadyPolicy>>,
    cache: Cache<CacheKey, Arc<ReadyPolicy>, ByBytes>,
    compute: Compute,
}

impl Policies {
    /// An empty cache. Policies are compiled in the turns of their tenants.
    #[must_use]
    pub fn new(compute: Compute) -> Self {
        Self {
            default: OnceLock::new(),
            cache: Cache::with_weighter(POLICIES_LIKELY, POLICIES_BYTES_MAX, ByBytes),
            compute,
        }
    }

    /// The requested policy; without one the agent's policy, or the default.
    ///
    /// # Errors
    /// The requested policy is invalid, the agent's tenant has not set a policy with this digest, or too much work of the tenant waits.
    pub async fn find(
        &self,
        registry: &Registry,
        tenant: &TenantId,
        agent: &AgentId,
        requested: Option<RequestedPolicy>,
    ) -> Result<Arc<ReadyPolicy>, Problem> {
        let bytes = match requested {
            Some(RequestedPolicy::PolicyJson(json)) => {
                let key = (tenant.clone(), Given::Text(Sha256::digest(&json).into()));
                let compiled = async { self.compile(tenant, json, None).await };
                return self.cache.get_or_insert_async(&key, compiled).await;
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
        let key = (tenant.clone(), Given::Digest(digest));
        let compiled = async {
            let stored = registry.context_policy(tenant, &digest).await.ok_or_else(unknown)?;
            self.compile(tenant, stored.policy_json, Some(PolicyDigest(digest))).await
        };
        self.cache.get_or_insert_async(&key, compiled).await
    }

    fn default(&self) -> Result<Arc<ReadyPolicy>, Problem> {
        if let Some(ready) = self.default.get() {
            return Ok(Arc::clone(ready));
        }
        let ready = ReadyPolicy::compile(&DEFAULT_POLICY.json, Some(DEFAULT_POLICY.digest))?;
        Ok(Arc::clone(self.default.get_or_init(|| ready)))
    }

    /// As [`ReadyPolicy::compile`], in the tenant's turn.
    async fn compile(
        &self,
        tenant: &TenantId,
        json: String,
        digest: Option<PolicyDigest>,
    ) -> Result<Arc<ReadyPolicy>, Problem> {
        let compile = || ReadyPolicy::compile(&json, digest);
        self.compute.run(tenant.as_str(), compile).await.map_err(compute_busy)?
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
