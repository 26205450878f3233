//! Quotas of active runs, of model tokens per day, and of what frontends send per day, and their usage.
//!
//! The crate `quotas` decides; this module holds the state. Active runs are those of this process. Tokens are the sum of the
//! read model's count and what this process has counted since; tokens of addresses are counted by this process alone. If the
//! read model does not answer, the last known count is used. The writer limits what tenants, agents and owners store and append;
//! what the frontends of one key or address create and send is counted here, by this process alone: the writer does not know them.

pub mod account;
pub(crate) mod counted_usage;
pub mod metering;
pub mod metrics;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::quotas::tokens::until_next_day;
use ::quotas::{ActiveRuns, Consumer, DayTokens, Exceeded, Quota, QuotaSet, RowTokens, Scope, Subject, check};
use domain::event::Usage;
use domain::{AgentId, TenantAccess, TenantId, Timestamp};
use quick_cache::sync::Cache;
use read_model::queries::{Storage, StorageScope, UsageScope, model_usage_of, storage};
use read_model::{Day, ReadModel};
use registry::{Registry, quota_problem};
use runtime::clock::Clock;
use tokio::time::timeout;
use wire::proto::write::v1::CommitResult;
use wire::status::Problem;

use account::Account;
use metering::{MeterPermit, Metering, metered};
use record_access::Gateway;

/// Maximum number of subjects with cached token counts. The least used are evicted.
pub const SUBJECTS_MAX: usize = 100_000;
/// Cache TTL of a count of the read model.
const CACHE_TTL: Duration = Duration::from_secs(5);
/// Timeout of a read of the read model.
const READ_TIMEOUT: Duration = Duration::from_millis(500);
const NANOS_PER_MS: i64 = 1_000_000;

/// The quotas and their usage. Clones share them.
#[derive(Debug, Clone)]
pub struct Quotas(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    registry: Registry,
    read_model: ReadModel,
    deployment: QuotaSet,
    active: Mutex<ActiveRuns>,
    tokens: Cache<Subject, Arc<Mutex<DayTokens>>>,
    /// What the frontends of keys and addresses have sent.
    sent: Cache<(Quota, Subject), Arc<Mutex<DayTokens>>>,
    metering: Metering,
    clock: Clock,
}

/// An active run. It is counted until this value is dropped.
#[derive(Debug)]
pub struct CountedRun {
    quotas: Quotas,
    consumer: Consumer,
}

impl Quotas {
    /// The quotas of a gateway; `deployment` applies where the registry sets none.
    #[must_use]
    pub fn new(gateway: &Gateway, deployment: QuotaSet, metering: Metering) -> Self {
        Self(Arc::new(Shared {
            registry: gateway.registry.clone(),
            read_model: gateway.reader.read_model.clone(),
            deployment,
            active: Mutex::default(),
            tokens: Cache::new(SUBJECTS_MAX),
            sent: Cache::new(SUBJECTS_MAX),
            metering,
            clock: gateway.clock.clone(),
        }))
    }

    /// The quotas of the deployment.
    #[must_use]
    pub fn deployment(&self) -> &QuotaSet {
        &self.0.deployment
    }

    /// The effective quotas of an agent.
    #[must_use]
    pub fn in_force(&self, tenant: &TenantId, agent: &AgentId) -> QuotaSet {
        self.0.registry.quotas(&self.0.deployment, tenant, agent)
    }

    /// The effective quotas of a tenant.
    #[must_use]
    pub fn of_tenant(&self, tenant: &TenantId) -> QuotaSet {
        self.0.registry.tenant_quotas(&self.0.deployment, tenant)
    }

    /// Counts a run against every subject of the account.
    ///
    /// # Errors
    /// `QUOTA_EXCEEDED`: a subject has reached its quota.
    pub fn enter(&self, account: &Account) -> Result<CountedRun, Problem> {
        let consumer = &account.consumer;
        let quotas = self.in_force(account.access.tenant.tenant(), &account.access.agent);
        self.active().enter(consumer, &quotas).map_err(|exceeded| refused(&exceeded))?;
        Ok(CountedRun { quotas: self.clone(), consumer: consumer.clone() })
    }

    /// The number of a tenant's active runs on this gateway.
    #[must_use]
    pub fn runs_of(&self, tenant: &TenantId) -> u64 {
        self.active().used(&tenant_subject(tenant))
    }

    /// Reserves a place for the metering of a call.
    ///
    /// # Errors
    /// As [`Metering::reserve`].
    pub fn reserve(&self) -> Result<MeterPermit, Problem> {
        self.0.metering.reserve()
    }

    /// Checks that every subject of the account has tokens left. An active call may exceed the quota by its own tokens.
    ///
    /// # Errors
    /// `QUOTA_EXCEEDED`.
    pub async fn check_tokens(&self, account: &Account) -> Result<(), Problem> {
        self.refresh(&account.access.tenant, account.consumer.subjects()).await;
        let consumer = &account.consumer;
        let quotas = self.in_force(account.access.tenant.tenant(), &account.access.agent);
        let now_ms = self.now_ms();
        for subject in consumer.subjects() {
            let (scope, quota) = (subject.scope, Quota::ModelTokensPerDay);
            let bound = quotas.of(scope).model_tokens_per_day;
            let used = lock(&self.counted(&subject)).used(now_ms);
            check(scope, quota, bound, used, 1, Some(until_next_day(now_ms))).map_err(|exceeded| refused(&exceeded))?;
        }
        Ok(())
    }

    /// Counts the tokens of a model call, in memory and in the record.
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

    /// Runs a command of a frontend if its key and address may send these amounts today. Counts them unless the writer has recorded
    /// the command before. At the bound, a retry of a recorded command is rejected too.
    ///
    /// # Errors
    /// `QUOTA_EXCEEDED`; as `command`.
    pub async fn with_send_quota<T>(
        &self,
        account: &Account,
        amounts: &[(Quota, u64)],
        command: impl Future<Output = Result<T, Problem>>,
        commit: impl FnOnce(&T) -> &CommitResult,
    ) -> Result<T, Problem> {
        self.check_sent(account, amounts)?;
        let answer = command.await?;
        if !commit(&answer).replayed {
            self.count_sent(account, amounts);
        }
        Ok(answer)
    }

    fn check_sent(&self, account: &Account, amounts: &[(Quota, u64)]) -> Result<(), Problem> {
        let quotas = self.in_force(account.access.tenant.tenant(), &account.access.agent);
        let now_ms = self.now_ms();
        for (subject, quota, amount) in subjects_of(account, amounts) {
            let used = lock(&self.sent(quota, &subject)).used(now_ms);
            let bound = quotas.of(subject.scope).get(quota);
            check(subject.scope, quota, bound, used, amount, Some(until_next_day(now_ms)))
                .map_err(|exceeded| refused(&exceeded))?;
        }
        Ok(())
    }

    fn count_sent(&self, account: &Account, amounts: &[(Quota, u64)]) {
        let now_ms = self.now_ms();
        for (subject, quota, amount) in subjects_of(account, amounts) {
            lock(&self.sent(quota, &subject)).add(now_ms, amount);
        }
    }

    fn sent(&self, quota: Quota, subject: &Subject) -> Arc<Mutex<DayTokens>> {
        let none = || Ok::<_, std::convert::Infallible>(Arc::default());
        let Ok(sent) = self.0.sent.get_or_insert_with(&(quota, subject.clone()), none);
        sent
    }

    /// The number of tokens that a tenant used today.
    pub async fn tokens_of(&self, tenant: &TenantAccess) -> u64 {
        let subject = tenant_subject(tenant.tenant());
        self.refresh(tenant, std::iter::once(subject.clone())).await;
        lock(&self.counted(&subject)).used(self.now_ms())
    }

    /// The storage that a tenant uses, from the rows; `None`: they cannot be read.
    pub async fn storage_of(&self, tenant: &TenantAccess) -> Option<Storage> {
        let reading = storage(&self.0.read_model, tenant, &StorageScope::Tenant);
        timeout(READ_TIMEOUT, reading).await.ok()?.ok()
    }

    /// Reads the counts of subjects of a tenant from the read model, unless the cached ones are fresh.
    async fn refresh(&self, tenant: &TenantAccess, subjects: impl Iterator<Item = Subject>) {
        let now_ms = self.now_ms();
        let metered: Vec<(UsageScope, Subject)> =
            subjects.filter_map(|subject| Some((usage_scope(subject.scope)?, subject))).collect();
        let is_fresh = |(_, subject): &(UsageScope, Subject)| lock(&self.counted(subject)).is_fresh(now_ms, CACHE_TTL);
        if metered.iter().all(is_fresh) {
            return;
        }
        let named: Vec<(UsageScope, &str)> =
            metered.iter().map(|(scope, subject)| (*scope, subject.name.as_str())).collect();
        let today = Day::from_time(Timestamp(self.0.clock.now_nanos()));
        let reading = model_usage_of(&self.0.read_model, tenant, today, &named);
        let Ok(Ok(used)) = timeout(READ_TIMEOUT, reading).await else {
            metrics::read_failed();
            return;
        };
        for ((_, subject), used) in metered.iter().zip(used) {
            let rows = RowTokens { tokens: used.tokens, corrections: used.corrections };
            lock(&self.counted(subject)).read(now_ms, rows);
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

fn tenant_subject(tenant: &TenantId) -> Subject {
    Subject { scope: Scope::Tenant, tenant: tenant.as_str().to_owned(), name: String::new() }
}

/// The amounts by the key and the address that they count for.
fn subjects_of(account: &Account, amounts: &[(Quota, u64)]) -> impl Iterator<Item = (Subject, Quota, u64)> {
    let subjects = account.consumer.subjects().filter(|subject| matches!(subject.scope, Scope::Key | Scope::Address));
    subjects.flat_map(|subject| amounts.iter().map(move |(quota, amount)| (subject.clone(), *quota, *amount)))
}

/// The bytes that a message of a command can store.
#[must_use]
pub fn size_of_message(message: &impl prost::Message) -> u64 {
    u64::try_from(message.encoded_len()).unwrap_or(u64::MAX)
}

/// The scope in the read model; `None`: the read model does not count this scope.
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
    quota_problem(exceeded)
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
