//! The quotas of tenants, agents and owners: appended bytes per minute, conversations, and stored bytes.
//!
//! Each process counts bytes per minute in memory. The stored amount is the sum of the rows and of the appends of this process
//! since the rows were read (`storage`). If the read model does not answer, the last known count applies: appends never depend
//! on Postgres.

mod storage;

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use ::quotas::{Bucket, Consumer, Exceeded, Limits, Quota, QuotaSet, Scope, Subject};
use domain::{Action, Owner};
use event_log::registry::quota_problem;
use quick_cache::sync::Cache;
use read_model::queries::{Storage, StorageScope};
use storage::{Addition, StorageCounts};
use wire::commit::Sealed;
use wire::status::Problem;

use crate::{Intent, Writer, metrics};

/// Maximum number of cached subjects; the counts of the least used start again.
pub(crate) const SUBJECTS_MAX: usize = 100_000;
const NANOS_PER_MS: i64 = 1_000_000;

/// The quotas of a writer, and the counts of subjects.
#[derive(Debug)]
pub(crate) struct WriteQuotas {
    deployment: QuotaSet,
    buckets: Cache<Subject, Arc<Mutex<Bucket>>>,
    storage: StorageCounts,
}

impl WriteQuotas {
    /// `deployment`: the quotas of subjects without quotas in the registry.
    pub(crate) fn new(deployment: &QuotaSet) -> Self {
        Self {
            deployment: *deployment,
            buckets: Cache::new(SUBJECTS_MAX),
            storage: StorageCounts::new(),
        }
    }

    /// Counts a commit for its subjects, before it is appended.
    /// Errors: `QUOTA_EXCEEDED`.
    pub(crate) async fn admit(
        &self,
        writer: &Writer,
        intent: &Intent,
        sealed: &Sealed,
    ) -> Result<(), Problem> {
        if intent.command.agent.is_audit_log() {
            // A tenant at its bound can still erase, and what is done there is recorded.
            return Ok(());
        }
        let quotas = self.in_force(writer, intent);
        if may_be_rejected(&intent.command.action) {
            self.add_stored(writer, intent, &quotas, sealed).await?;
        }
        self.take_bytes(writer, intent, &quotas, sealed)
    }

    /// Makes the stored amounts of the subjects expire after an erasure.
    pub(crate) async fn erased(&self, intent: &Intent, owner: Option<&Owner>) {
        for subject in subjects(intent, owner) {
            self.storage.expire(&subject).await;
        }
    }

    /// Takes the bytes of a commit from the buckets of its subjects. Commands that end, stop or erase are counted and never
    /// rejected.
    fn take_bytes(
        &self,
        writer: &Writer,
        intent: &Intent,
        quotas: &QuotaSet,
        sealed: &Sealed,
    ) -> Result<(), Problem> {
        let bytes = u64::try_from(sealed.message.len()).unwrap_or(u64::MAX);
        let now_ms = now_ms(writer);
        let may_be_rejected = may_be_rejected(&intent.command.action);
        for subject in subjects(intent, sealed.head.owner.as_ref()) {
            let bound = quotas.of(subject.scope).appended_bytes_per_minute;
            let Some(bound) = bound else { continue };
            let none = || Ok::<_, Infallible>(Arc::default());
            let Ok(bucket) = self.buckets.get_or_insert_with(&subject, none);
            let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
            if !may_be_rejected {
                bucket.charge(now_ms, bound, bytes);
            } else if let Err(empty) = bucket.take(now_ms, bound, bytes) {
                return Err(reject(&Exceeded {
                    scope: subject.scope,
                    quota: Quota::AppendedBytesPerMinute,
                    bound,
                    used: empty.taken,
                    retry_after: empty.retry_after,
                }));
            }
        }
        Ok(())
    }

    /// Adds the stored amount of a commit to its subjects.
    async fn add_stored(
        &self,
        writer: &Writer,
        intent: &Intent,
        quotas: &QuotaSet,
        sealed: &Sealed,
    ) -> Result<(), Problem> {
        let owner = sealed.head.owner.as_ref();
        // A document is no conversation to those who count them; its bytes are counted.
        let creates = matches!(intent.command.action, Action::Create(_))
            && !intent.key.conversation.is_document();
        let addition = Addition {
            read_model: &writer.read_model,
            access: &intent.access.tenant,
            wanted: Storage {
                conversations: u64::from(creates),
                bytes: sealed.stored_bytes,
            },
            now_ms: now_ms(writer),
        };
        let mut widest = None;
        for subject in subjects(intent, owner) {
            let limits = quotas.of(subject.scope);
            // The wider subject contains this one. If the wider subject is within these limits, the rows need no read.
            if widest.is_some_and(|widest| is_within(widest, limits)) {
                let adding = self.storage.add_allowed(&subject, addition.wanted);
                adding.await;
                continue;
            }
            let by = stored_by(&subject, intent, owner);
            let added = self.storage.add(&subject, by, limits, &addition).await;
            widest = Some(added.map_err(|exceeded| reject(&exceeded))?);
        }
        Ok(())
    }

    fn in_force(&self, writer: &Writer, intent: &Intent) -> QuotaSet {
        let (tenant, agent) = (&intent.key.tenant, &intent.command.agent);
        writer.registry.quotas(&self.deployment, tenant, agent)
    }
}

/// The subjects of a commit, the widest first.
fn subjects(intent: &Intent, owner: Option<&Owner>) -> Vec<Subject> {
    let agent = intent.command.agent.as_str();
    let owner = owner.map(|owner| match owner {
        Owner::User(user) => format!("{agent}/user/{}", user.as_str()),
        Owner::Channel(channel) => format!("{agent}/channel/{}", channel.as_str()),
        Owner::Session(session) => format!("{agent}/session/{}", session.as_str()),
    });
    let consumer = Consumer {
        tenant: intent.key.tenant.as_str().to_owned(),
        agent: agent.to_owned(),
        key: None,
        owner,
        address: None,
    };
    consumer.subjects().collect()
}

fn stored_by(subject: &Subject, intent: &Intent, owner: Option<&Owner>) -> StorageScope {
    let agent = &intent.command.agent;
    match (subject.scope, owner) {
        (Scope::Owner, Some(owner)) => StorageScope::Owner(agent.clone(), owner.clone()),
        (Scope::Agent, _) => StorageScope::Agent(agent.clone()),
        _ => StorageScope::Tenant,
    }
}

fn is_within(stored: Storage, limits: &Limits) -> bool {
    let is_within = |stored: u64, bound: Option<u64>| bound.is_none_or(|bound| stored <= bound);
    is_within(stored.conversations, limits.conversations)
        && is_within(stored.bytes, limits.stored_bytes)
}

/// Whether a quota may reject the action. Actions that end or remove something are always allowed.
fn may_be_rejected(action: &Action) -> bool {
    matches!(
        action,
        Action::Create(_) | Action::Append { .. } | Action::Update(_) | Action::StartRun(_)
    )
}

fn now_ms(writer: &Writer) -> u64 {
    u64::try_from(writer.now().0 / NANOS_PER_MS).unwrap_or_default()
}

fn reject(exceeded: &Exceeded) -> Problem {
    metrics::quota_exceeded(exceeded);
    quota_problem(exceeded)
}
