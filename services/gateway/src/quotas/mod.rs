//! What callers may use here, and what they use: runs under way, and model tokens of the day.
//!
//! The decisions are those of the crate `quotas`; here are their state and where it comes from. Runs under way are this
//! process's own. Tokens are those of the read model and what this process has counted since; those of addresses are this
//! process's own. Where the read model does not answer, the last known count is in force. Conversations, stored
//! and appended bytes are the writer's to limit.

pub mod account;
pub mod metering;
pub mod metrics;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::quotas::tokens::until_next_day;
use ::quotas::{ActiveRuns, Consumer, DayTokens, Exceeded, Quota, QuotaSet, Scope, Subject, check};
use domain::event::Usage;
use domain::{AgentId, TenantAccess, TenantId, Timestamp};
use event_log::Registry;
use event_log::registry::of_exceeded;
use quick_cache::sync::Cache;
use read_model::queries::{Storage, StoredBy, UsageScope, model_usage_of, storage};
use read_model::{Day, ReadModel};
use runtime::clock::Clock;
use tokio::time::timeout;
use wire::status::Problem;

use crate::Gateway;
use account::Account;
use metering::{MeterPermit, Metering, metered};

/// Most subjects whose tokens are remembered; the least used are read again when they call.
pub const SUBJECTS_MAX: usize = 100_000;
/// For how long a count of the read model is in force.
const FRESH: Duration = Duration::from_secs(5);
/// The longest wait for a count of the read model.
const READ_MAX: Duration = Duration::from_millis(500);
const NANOS_PER_MS: i64 = 1_000_000;

/// What callers may use here, and what they use. Clones share it.
#[derive(Debug, Clone)]
pub struct Quotas(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    registry: Registry,
    read_model: ReadModel,
    deployment: QuotaSet,
    active: Mutex<ActiveRuns>,
    tokens: Cache<Subject, Arc<Mutex<DayTokens>>>,
    metering: Metering,
    clock: Clock,
}

/// A run under way, counted for as long as it is kept.
#[derive(Debug)]
pub struct CountedRun {
    quotas: Quotas,
    consumer: Consumer,
}

impl Quotas {
    /// The quotas of a gateway, where the registry says nothing those of its deployment.
    #[must_use]
    pub fn new(gateway: &Gateway, deployment: QuotaSet, metering: Metering) -> Self {
        Self(Arc::new(Shared {
            registry: gateway.registry.clone(),
            read_model: gateway.reader.read_model.clone(),
            deployment,
            active: Mutex::default(),
            tokens: Cache::new(SUBJECTS_MAX),
            metering,
            clock: Clock::System,
        }))
    }

    /// The quotas of the deployment.
    #[must_use]
    pub fn deployment(&self) -> &QuotaSet {
        &self.0.deployment
    }

    /// The quotas in force for an agent.
    #[must_use]
    pub fn in_force(&self, tenant: &TenantId, agent: &AgentId) -> QuotaSet {
        self.0.registry.quotas(&self.0.deployment, tenant, agent)
    }

    /// The quotas in force for a tenant as a whole.
    #[must_use]
    pub fn of_tenant(&self, tenant: &TenantId) -> QuotaSet {
        self.0.registry.tenant_quotas(&self.0.deployment, tenant)
    }

    /// Counts a run against everyone it belongs to.
    ///
    /// # Errors
    /// `QUOTA_EXCEEDED`: one of them has as many as its quota allows.
    pub fn enter(&self, account: &Account) -> Result<CountedRun, Problem> {
        let consumer = &account.consumer;
        let quotas = self.in_force(account.access.tenant.tenant(), &account.access.agent);
        self.active()
            .enter(consumer, &quotas)
            .map_err(|exceeded| refused(&exceeded))?;
        Ok(CountedRun {
            quotas: self.clone(),
            consumer: consumer.clone(),
        })
    }

    /// How many runs of a tenant are under way here.
    #[must_use]
    pub fn runs_of(&self, tenant: &TenantId) -> u64 {
        self.active().used(&whole(tenant))
    }

    /// Takes room for the metering of a call.
    ///
    /// # Errors
    /// As [`Metering::reserve`].
    pub fn reserve(&self) -> Result<MeterPermit, Problem> {
        self.0.metering.reserve()
    }

    /// Whether a model may be asked: tokens are left to everyone whom the call counts against. A call under way may go past
    /// the quota by its own tokens.
    ///
    /// # Errors
    /// `QUOTA_EXCEEDED`.
    pub async fn check_tokens(&self, account: &Account) -> Result<(), Problem> {
        self.refresh(&account.access.tenant, account.consumer.subjects())
            .await;
        let consumer = &account.consumer;
        let quotas = self.in_force(account.access.tenant.tenant(), &account.access.agent);
        let now_ms = self.now_ms();
        for subject in consumer.subjects() {
            let (scope, quota) = (subject.scope, Quota::ModelTokensPerDay);
            let bound = quotas.of(scope).model_tokens_per_day;
            let used = lock(&self.counted(&subject)).used(now_ms);
            check(scope, quota, bound, used, 1, until_next_day(now_ms))
                .map_err(|exceeded| refused(&exceeded))?;
        }
        Ok(())
    }

    /// Counts what a call of a model took, here and durably.
    pub fn spend(&self, account: &Account, usage: &Usage, permit: MeterPermit) {
        let consumer = &account.consumer;
        if let Some(call) = metered(consumer, usage.input_tokens, usage.output_tokens) {
            permit.send(call);
        }
        let now_ms = self.now_ms();
        let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
        for subject in consumer.subjects() {
            lock(&self.counted(&subject)).add(now_ms, tokens);
        }
    }

    /// How many tokens of a tenant are counted today.
    pub async fn tokens_of(&self, tenant: &TenantAccess) -> u64 {
        let subject = whole(tenant.tenant());
        self.refresh(tenant, std::iter::once(subject.clone())).await;
        lock(&self.counted(&subject)).used(self.now_ms())
    }

    /// What a tenant stores, as the rows have it; `None`: they cannot be read.
    pub async fn storage_of(&self, tenant: &TenantAccess) -> Option<Storage> {
        let reading = storage(&self.0.read_model, tenant, &StoredBy::Tenant);
        timeout(READ_MAX, reading).await.ok()?.ok()
    }

    /// Reads what the read model has counted of subjects of a tenant, unless that is fresh.
    async fn refresh(&self, tenant: &TenantAccess, subjects: impl Iterator<Item = Subject>) {
        let now_ms = self.now_ms();
        let metered = subjects.filter_map(|subject| Some((usage_scope(subject.scope)?, subject)));
        let metered: Vec<(UsageScope, Subject)> = metered.collect();
        let is_fresh = |(_, subject): &(UsageScope, Subject)| {
            lock(&self.counted(subject)).is_fresh(now_ms, FRESH)
        };
        if metered.iter().all(is_fresh) {
            return;
        }
        let named = metered
            .iter()
            .map(|(scope, subject)| (*scope, subject.name.as_str()));
        let named: Vec<(UsageScope, &str)> = named.collect();
        let today = Day::of(Timestamp(self.0.clock.now_nanos()));
        let reading = model_usage_of(&self.0.read_model, tenant, today, &named);
        let Ok(Ok(tokens)) = timeout(READ_MAX, reading).await else {
            metrics::unread();
            return;
        };
        for ((_, subject), tokens) in metered.iter().zip(tokens) {
            lock(&self.counted(subject)).read(now_ms, tokens);
        }
    }

    fn counted(&self, subject: &Subject) -> Arc<Mutex<DayTokens>> {
        let none = || Ok::<_, std::convert::Infallible>(Arc::default());
        let Ok(counted) = self.0.tokens.get_or_insert_with(subject, none);
        counted
    }

    fn active(&self) -> MutexGuard<'_, ActiveRuns> {
        lock(&self.0.active)
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.0.clock.now_nanos() / NANOS_PER_MS).unwrap_or_default()
    }
}

impl Drop for CountedRun {
    fn drop(&mut self) {
        self.quotas.active().leave(&self.consumer);
    }
}

/// The tenant as a whole.
fn whole(tenant: &TenantId) -> Subject {
    Subject {
        scope: Scope::Tenant,
        tenant: tenant.as_str().to_owned(),
        name: String::new(),
    }
}

/// As whom the read model counts a subject; `None`: it does not.
fn usage_scope(scope: Scope) -> Option<UsageScope> {
    match scope {
        Scope::Tenant => Some(UsageScope::Tenant),
        Scope::Agent => Some(UsageScope::Agent),
        Scope::Key => Some(UsageScope::Key),
        Scope::Owner => Some(UsageScope::Owner),
        Scope::Address => None,
    }
}

fn refused(exceeded: &Exceeded) -> Problem {
    metrics::refused(exceeded);
    of_exceeded(exceeded)
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
