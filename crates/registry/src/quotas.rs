//! Quotas of tenants and agents in the registry, with the deployment's quotas as defaults.

use std::time::Duration;

use domain::{AgentId, TenantId, Violation, ViolationReason};
use quotas::{Exceeded, InvalidQuota, Limits, QuotaSet};
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::{AgentSettings, Tenant};
use wire::status::{Problem, Reason};

use crate::{Registry, SettingsError};

/// Minimum retry delay in a rejection.
const RETRY_AFTER_MIN: Duration = Duration::from_millis(100);

impl Registry {
    /// The effective quotas of an agent: its own, else its tenant's, else the deployment's. Answers from memory without copying
    /// entries.
    #[must_use]
    pub fn quotas(&self, deployment: &QuotaSet, tenant: &TenantId, agent: &AgentId) -> QuotaSet {
        self.shared().read(|entries| {
            let tenant = entries.tenants.get(tenant).and_then(|entry| entry.value.quotas.as_ref());
            let agent = entries.agents.get(agent);
            let settings = agent.and_then(|entry| entry.value.agent.settings.as_ref());
            let agent = settings.and_then(|settings| settings.quotas.as_ref());
            let (tenant, agent) = (tenant.map(quota_set), agent.map(quota_set));
            QuotaSet::resolve(deployment, tenant.as_ref(), agent.as_ref())
        })
    }

    /// The effective quotas of a whole tenant: its own, else the deployment's.
    #[must_use]
    pub fn tenant_quotas(&self, deployment: &QuotaSet, tenant: &TenantId) -> QuotaSet {
        self.shared().read(|entries| {
            let tenant = entries.tenants.get(tenant).and_then(|entry| entry.value.quotas.as_ref());
            QuotaSet::resolve(deployment, tenant.map(quota_set).as_ref(), None)
        })
    }

    /// Changes a tenant's quotas; retries after a concurrent change.
    ///
    /// # Errors
    /// [`SettingsError`] of `change`, of invalid quotas, or of the registry.
    pub async fn change_tenant_quotas(
        &self,
        tenant: &TenantId,
        change: impl Fn(proto::Quotas) -> Result<proto::Quotas, Violation>,
    ) -> Result<Tenant, SettingsError> {
        let change = |tenant: &mut Tenant| {
            let quotas = change(tenant.quotas.unwrap_or_default())?;
            check_quotas(&quotas, QuotaSet::validate)?;
            tenant.quotas = Some(quotas);
            Ok(())
        };
        self.change_tenant(tenant, change).await
    }
}

/// Checks the quotas of an agent's settings; returns the first invalid one, with its path.
pub(crate) fn check_agent_quotas(settings: &AgentSettings) -> Result<(), Violation> {
    let Some(quotas) = &settings.quotas else {
        return Ok(());
    };
    check_quotas(quotas, QuotaSet::validate_for_agent)
}

fn check_quotas(quotas: &proto::Quotas, rule: impl Fn(&QuotaSet) -> Result<(), InvalidQuota>) -> Result<(), Violation> {
    rule(&quota_set(quotas)).map_err(|InvalidQuota { scope, quota, error }| {
        Violation::new(ViolationReason::OutOfRange, error.to_string())
            .within(quota.as_str())
            .within(scope.as_str())
            .within("quotas")
    })
}

/// Converts quotas from protobuf.
#[must_use]
pub fn quota_set(given: &proto::Quotas) -> QuotaSet {
    let limits = |given: Option<&proto::QuotaLimits>| {
        given.map_or_else(Limits::default, |given| Limits {
            runs: given.runs,
            model_tokens_per_day: given.model_tokens_per_day,
            conversations: given.conversations,
            stored_bytes: given.stored_bytes,
            appended_bytes_per_minute: given.appended_bytes_per_minute,
        })
    };
    QuotaSet {
        tenant: limits(given.tenant.as_ref()),
        agent: limits(given.agent.as_ref()),
        key: limits(given.key.as_ref()),
        owner: limits(given.owner.as_ref()),
        address: limits(given.address.as_ref()),
    }
}

/// Converts quotas to protobuf.
#[must_use]
pub fn quotas_to_proto(set: &QuotaSet) -> proto::Quotas {
    let limits = |limits: &Limits| {
        (*limits != Limits::default()).then_some(proto::QuotaLimits {
            runs: limits.runs,
            model_tokens_per_day: limits.model_tokens_per_day,
            conversations: limits.conversations,
            stored_bytes: limits.stored_bytes,
            appended_bytes_per_minute: limits.appended_bytes_per_minute,
        })
    };
    proto::Quotas {
        tenant: limits(&set.tenant),
        agent: limits(&set.agent),
        key: limits(&set.key),
        owner: limits(&set.owner),
        address: limits(&set.address),
    }
}

/// The problem of an exceeded quota: `RESOURCE_EXHAUSTED` or 429, with the quota's name and bound.
#[must_use]
pub fn quota_problem(exceeded: &Exceeded) -> Problem {
    let (scope, quota) = (exceeded.scope.as_str(), exceeded.quota.as_str());
    let problem = Problem::new(Reason::QuotaExceeded, exceeded.to_string())
        .with_quota(scope, format!("{quota}: {}", exceeded.bound))
        .with("quota", quota)
        .with("scope", scope)
        .with("bound", exceeded.bound.to_string())
        .with("used", exceeded.used.to_string());
    match exceeded.retry_after {
        Some(delay) => problem.retry_after(delay.max(RETRY_AFTER_MIN)),
        None => problem,
    }
}
