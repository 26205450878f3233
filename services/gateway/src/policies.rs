//! Context policies, ready to use: the caller's, the agent's, or one that its tenant has set before.

use std::sync::Arc;

use context::policy::Mistake;
use context::{DEFAULT_POLICY, Policy, PolicyDigest};
use domain::{AgentId, TenantId, Violation, ViolationReason};
use event_log::Registry;
use quick_cache::sync::Cache;
use redact::Rules;
use wire::proto::read::v1::assemble_context_request::Policy as Asked;
use wire::status::{Problem, Reason};

/// Most policies that are kept ready; one that is not is made ready again, which takes about a millisecond.
pub const POLICIES_READY_MAX: usize = 1_000;

/// A policy that can be used at once.
#[derive(Debug)]
pub struct ReadyPolicy {
    /// The settings.
    pub policy: Policy,
    /// Their digest.
    pub digest: PolicyDigest,
    /// Its rules of redaction.
    pub rules: Rules,
}

/// The policies that were used lately, by digest: what has the same digest is the same, whoever asks.
#[derive(Debug)]
pub struct Policies(Cache<PolicyDigest, Arc<ReadyPolicy>>);

impl Default for Policies {
    fn default() -> Self {
        Self(Cache::new(POLICIES_READY_MAX))
    }
}

impl Policies {
    /// The policy that a request asks for; without one the agent's own, or the default.
    ///
    /// # Errors
    /// A mistake in the caller's policy, or a digest that the agent's tenant never set.
    pub async fn find(
        &self,
        registry: &Registry,
        agent: (&TenantId, &AgentId),
        asked: Option<Asked>,
    ) -> Result<Arc<ReadyPolicy>, Problem> {
        let (tenant, agent) = agent;
        let digest = match asked {
            Some(Asked::PolicyJson(json)) => {
                let policy = Policy::parse(&json).map_err(refused)?;
                return self.ready(policy.digest(), || Ok(policy));
            }
            Some(Asked::PolicyDigest(digest)) => digest,
            None => match registry.agent(agent) {
                Some(agent) if !agent.context_policy_digest.is_empty() => {
                    agent.context_policy_digest
                }
                Some(_) | None => return self.default(),
            },
        };
        let digest = digest.as_ref().try_into().map_err(|_| not_a_digest())?;
        if PolicyDigest(digest) == DEFAULT_POLICY.digest {
            // Nobody needs to have set it: the receipts of agents without a policy name it.
            return self.default();
        }
        let kept = registry.context_policy(tenant, &digest).await;
        let kept = kept.ok_or_else(unknown)?;
        self.ready(PolicyDigest(digest), || {
            Policy::parse(&kept.policy_json).map_err(refused)
        })
    }

    fn default(&self) -> Result<Arc<ReadyPolicy>, Problem> {
        self.ready(DEFAULT_POLICY.digest, || Ok(DEFAULT_POLICY.policy.clone()))
    }

    fn ready(
        &self,
        digest: PolicyDigest,
        policy: impl FnOnce() -> Result<Policy, Problem>,
    ) -> Result<Arc<ReadyPolicy>, Problem> {
        self.0.get_or_insert_with(&digest, || {
            let policy = policy()?;
            let rules =
                Rules::compile(&policy.redact).map_err(|invalid| refused(vec![invalid.into()]))?;
            Ok(Arc::new(ReadyPolicy {
                policy,
                digest,
                rules,
            }))
        })
    }
}

fn refused(mistakes: Vec<Mistake>) -> Problem {
    Problem::of_violations("policy_json", mistakes)
}

fn not_a_digest() -> Violation {
    let rule = "is not 32 bytes: give the SHA-256 that a receipt names";
    Violation::new(ViolationReason::Malformed, rule).within("policy_digest")
}

fn unknown() -> Problem {
    Problem::of_field(
        Reason::RegistryEntryNotFound,
        "policy_digest",
        "names no policy that the agent's tenant has set: give policy_json instead",
    )
}
