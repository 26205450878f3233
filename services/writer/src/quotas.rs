//! The quotas of tenants, agents and owners: appended bytes per minute, conversations, and stored bytes.
//!
//! Each process counts bytes per minute in memory. The stored amount is the sum of the rows and of the appends of this process
//! since the rows were read (`storage`). If the read model does not answer, the last known count applies: appends never depend
//! on Postgres.

mod storage;

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use ::quotas::{Bucket, Consumer, Exceeded, Limits, Quota, QuotaSet, Scope, Subject};
use domain::{Action, AgentId, ConversationId, Head, Owner, TenantId, Version};
use quick_cache::sync::Cache;
use read_model::queries::{Storage, StorageScope};
use registry::quota_problem;
use storage::{Addition, StorageCounts};
use wire::commit::Sealed;
use wire::status::Problem;

use crate::{Intent, Writer, metrics};

/// Maximum number of cached subjects; the counts of the least used start again.
pub(crate) const SUBJECTS_MAX: usize = 100_000;

/// The stored amount that a command was charged. It is returned if the command stores nothing.
#[derive(Debug)]
pub(crate) struct Charge {
    subjects: Vec<Subject>,
    amount: Storage,
}

/// The quotas of a writer, and the counts of subjects.
#[derive(Debug)]
pub(crate) struct WriteQuotas {
    deployment: QuotaSet,
    buckets: Cache<Subject, Arc<Mutex<Bucket>>>,
    storage: StorageCounts,
    /// Counts its time from here, because no clock that is set may stop the refill of a bucket.
    started: Instant,
}

impl WriteQuotas {
    /// `deployment`: the quotas of subjects without quotas in the registry.
    pub(crate) fn new(deployment: &QuotaSet) -> Self {
        Self {
            deployment: *deployment,
            buckets: Cache::new(SUBJECTS_MAX),
            storage: StorageCounts::new(),
            started: Instant::now(),
        }
    }

    /// Charges a commit to all its subjects, or to none, before it is appended. A command is charged once, also if it is decided
    /// again.
    /// Errors: `QUOTA_EXCEEDED`.
    pub(crate) async fn admit(
        &self,
        writer: &Writer,
        intent: &Intent,
        previous: Option<&Head>,
        sealed: &Sealed,
    ) -> Result<Charge, Problem> {
        let conversations = added_conversations(&intent.key.conversation, previous, &sealed.head);
        let amount = Storage { conversations, bytes: sealed.stored_bytes };
        let mut charge = Charge { subjects: Vec::new(), amount };
        if intent.command.agent.is_audit_log() {
            // A tenant at its bound can still erase, and what is done there is recorded.
            return Ok(charge);
        }
        let quotas = self.in_force(writer, intent);
        let mut charged = Ok(());
        if may_be_rejected(&intent.command.action) {
            charged = self.add_stored(writer, intent, &quotas, sealed, &mut charge).await;
        }
        match charged.and_then(|()| self.take_bytes(intent, &quotas, sealed)) {
            Ok(()) => Ok(charge),
            Err(exceeded) => {
                self.refund(&charge).await;
                Err(exceeded)
            }
        }
    }

    /// Returns what a command was charged that stored nothing.
    pub(crate) async fn refund(&self, charge: &Charge) {
        for subject in &charge.subjects {
            self.storage.subtract(subject, charge.amount).await;
        }
    }

    /// Makes the stored amounts of the subjects expire after an erasure.
    pub(crate) async fn erased(&self, intent: &Intent, owner: Option<&Owner>) {
        for subject in subjects(intent, owner) {
            self.storage.expire(&subject).await;
        }
    }

    /// Takes the bytes of a commit from the buckets of all its subjects, or of none. Commands that end, stop or erase are counted
    /// and never rejected.
    fn take_bytes(&self, intent: &Intent, quotas: &QuotaSet, sealed: &Sealed) -> Result<(), Problem> {
        let bytes = u64::try_from(sealed.message.len()).unwrap_or(u64::MAX);
        let now_ms = self.now_ms();
        let may_be_rejected = may_be_rejected(&intent.command.action);
        let buckets: Vec<_> = subjects(intent, sealed.head.owner.as_ref())
            .into_iter()
            .filter_map(|subject| {
                let bound = quotas.of(subject.scope).appended_bytes_per_minute?;
                let none = || Ok::<_, Infallible>(Arc::default());
                let Ok(bucket) = self.buckets.get_or_insert_with(&subject, none);
                Some((subject.scope, bound, bucket))
            })
            .collect();
        // All are locked at once, always the widest first.
        let mut taken = Vec::with_capacity(buckets.len());
        for (scope, bound, bucket) in &buckets {
            let held = bucket.lock().unwrap_or_else(PoisonError::into_inner);
            let mut after: Bucket = *held;
            if !may_be_rejected {
                after.charge(now_ms, *bound, bytes);
            } else if let Err(empty) = after.take(now_ms, *bound, bytes) {
                return Err(reject(&Exceeded {
                    scope: *scope,
                    quota: Quota::AppendedBytesPerMinute,
                    bound: *bound,
                    used: empty.taken,
                    retry_after: Some(empty.retry_after),
                }));
            }
            taken.push((held, after));
        }
        for (mut held, after) in taken {
            *held = after;
        }
        Ok(())
    }

    /// Adds the stored amount of a commit to its subjects. After an error, the charge has those that it was added to.
    async fn add_stored(
        &self,
        writer: &Writer,
        intent: &Intent,
        quotas: &QuotaSet,
        sealed: &Sealed,
        charge: &mut Charge,
    ) -> Result<(), Problem> {
        let owner = sealed.head.owner.as_ref();
        let addition = Addition {
            read_model: &writer.read_model,
            access: &intent.access.tenant,
            wanted: charge.amount,
            now_ms: self.now_ms(),
        };
        let mut widest = None;
        for subject in subjects(intent, owner) {
            let limits = &limits_of(quotas, subject.scope, owner);
            // The wider subject contains this one. If the wider subject is within these limits, the rows need no read.
            if widest.is_some_and(|widest| is_within(widest, limits)) {
                self.storage.add_allowed(&subject, addition.wanted).await;
            } else {
                let by = stored_by(subject.scope, &intent.command.agent, owner);
                let added = self.storage.add(&subject, by, limits, &addition).await;
                widest = Some(added.map_err(|exceeded| reject(&exceeded))?);
            }
            charge.subjects.push(subject);
        }
        Ok(())
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn in_force(&self, writer: &Writer, intent: &Intent) -> QuotaSet {
        let (tenant, agent) = (&intent.key.tenant, &intent.command.agent);
        writer.registry.quotas(&self.deployment, tenant, agent)
    }
}

/// The conversations that a commit adds: 1 or 0. A document is no conversation to those who count them.
fn added_conversations(conversation: &ConversationId, previous: Option<&Head>, head: &Head) -> u64 {
    let is_counted = |head: &Head| !conversation.is_document() && !is_empty(head);
    u64::from(is_counted(head) && !previous.is_some_and(is_counted))
}

/// Whether it is a session's conversation that has nothing but its creation: it counts from its next event on, as in the rows.
fn is_empty(head: &Head) -> bool {
    head.version == Version(1) && head.forked_from.is_none() && matches!(head.owner, Some(Owner::Session(_)))
}

/// The subjects of a commit, the widest first.
fn subjects(intent: &Intent, owner: Option<&Owner>) -> Vec<Subject> {
    subjects_of(&intent.key.tenant, &intent.command.agent, owner)
}

fn subjects_of(tenant: &TenantId, agent: &AgentId, owner: Option<&Owner>) -> Vec<Subject> {
    let agent = agent.as_str();
    let owner = owner.map(|owner| match owner {
        Owner::User(user) => format!("{agent}/user/{}", user.as_str()),
        Owner::Channel(channel) => format!("{agent}/channel/{}", channel.as_str()),
        Owner::Session(session) => format!("{agent}/session/{}", session.as_str()),
    });
    let consumer =
        Consumer { tenant: tenant.as_str().to_owned(), agent: agent.to_owned(), key: None, owner, address: None };
    consumer.subjects().collect()
}

/// The quotas of a scope that apply to what an owner stores.
fn limits_of(quotas: &QuotaSet, scope: Scope, owner: Option<&Owner>) -> Limits {
    match (scope, owner) {
        (Scope::Tenant | Scope::Agent, Some(Owner::Session(_))) => quotas.of(scope).of_sessions(),
        _ => *quotas.of(scope),
    }
}

fn stored_by(scope: Scope, agent: &AgentId, owner: Option<&Owner>) -> StorageScope {
    match (scope, owner) {
        (Scope::Owner, Some(owner)) => StorageScope::Owner(agent.clone(), owner.clone()),
        (Scope::Agent, _) => StorageScope::Agent(agent.clone()),
        _ => StorageScope::Tenant,
    }
}

fn is_within(stored: Storage, limits: &Limits) -> bool {
    let is_within = |stored: u64, bound: Option<u64>| bound.is_none_or(|bound| stored <= bound);
    is_within(stored.conversations, limits.conversations) && is_within(stored.bytes, limits.stored_bytes)
}

/// Whether a quota may reject the action. Actions that end or remove something are always allowed.
fn may_be_rejected(action: &Action) -> bool {
    matches!(action, Action::Create(_) | Action::Append { .. } | Action::Update(_) | Action::StartRun(_))
}

fn reject(exceeded: &Exceeded) -> Problem {
    metrics::quota_exceeded(exceeded);
    quota_problem(exceeded)
}

#[cfg(test)]
mod tests {
    use domain::event::{ClientContext, ConversationCreated, EventTokens, Lifecycle};
    use domain::{
        CommitFacts, CommitId, Create, Event, EventId, ForkPoint, ForkRule, RequestDigest, RunId, Sequence, SessionId,
        Timestamp, UserId,
    };
    use uuid::Uuid;

    use super::*;

    fn agent() -> AgentId {
        AgentId::parse("helper").unwrap()
    }

    fn ada() -> Owner {
        Owner::User(UserId::parse("ada").unwrap())
    }

    fn created() -> ConversationCreated {
        ConversationCreated {
            agent: agent(),
            owner: ada(),
            title: None,
            metadata: None,
            client_context: ClientContext::default(),
            provider_conversation_id: None,
            forked_from: None,
        }
    }

    fn create() -> Action {
        Action::Create(Box::new(Create { created: created(), occurred_at: None, events: Vec::new(), run: None }))
    }

    fn append() -> Action {
        Action::Append { events: Vec::new(), expected: None }
    }

    #[test]
    fn only_sessions_leave_a_part_to_others() {
        let quotas = QuotaSet::deployment();
        let session = Owner::Session(SessionId::parse("s").unwrap());
        for scope in Scope::ALL {
            for (owner, is_session) in [(Some(&session), true), (Some(&ada()), false), (None, false)] {
                let is_reduced = limits_of(&quotas, scope, owner) != *quotas.of(scope);
                assert_eq!(is_reduced, is_session && [Scope::Tenant, Scope::Agent].contains(&scope), "{scope:?}");
            }
        }
    }

    #[test]
    fn quotas_reject_no_end_and_no_removal() {
        let check = |action: &Action, expected: bool| assert_eq!(may_be_rejected(action), expected, "{action:?}");
        check(&create(), true);
        check(&append(), true);
        check(&Action::Update(Box::default()), true);
        check(&Action::Archive, false);
        check(&Action::Restore, false);
        check(&Action::StopRun(RunId(Uuid::nil())), false);
        check(&Action::Erase { expected: None, forks: ForkRule::Refuse }, false);
        check(&Action::ChangeOwner { expected: None, owner: ada() }, false);
    }

    fn after(previous: Option<&Head>, fact: Lifecycle) -> Head {
        let event = Event {
            id: EventId::derived(CommitId(Uuid::nil()), 0),
            occurred_at: None,
            metadata: None,
            tokens: EventTokens::default(),
            fact: fact.into(),
        };
        let facts = CommitFacts {
            id: CommitId(Uuid::nil()),
            request_digest: RequestDigest([0; 16]),
            recorded_at: Timestamp(0),
            events: &[event],
            body: &[],
            previous_sequence: previous.map(|_| Sequence(1)),
        };
        Head::after(previous, &facts).unwrap()
    }

    #[test]
    fn an_empty_conversation_of_a_session_counts_from_its_next_event_on() {
        let session = Owner::Session(SessionId::parse("s").unwrap());
        let parent = ForkPoint { conversation: ConversationId::parse("p").unwrap(), version: Version(1), depth: 1 };
        let check = |owner: &Owner, fork: Option<&ForkPoint>, id: &str, expected: [u64; 3]| {
            let id = ConversationId::parse(id).unwrap();
            let created = ConversationCreated { owner: owner.clone(), forked_from: fork.cloned(), ..created() };
            let first = after(None, Lifecycle::ConversationCreated(created));
            let second = after(Some(&first), Lifecycle::ConversationRestored);
            let third = after(Some(&second), Lifecycle::ConversationRestored);
            let added = [(None, &first), (Some(&first), &second), (Some(&second), &third)]
                .map(|(previous, head)| added_conversations(&id, previous, head));
            assert_eq!(added, expected, "{owner:?} {fork:?} {id}");
        };
        check(&session, None, "c", [0, 1, 0]);
        check(&session, Some(&parent), "c", [1, 0, 0]);
        check(&session, None, "document:x", [0, 0, 0]);
        check(&ada(), None, "c", [1, 0, 0]);
        check(&ada(), None, "document:x", [0, 0, 0]);
    }

    #[test]
    fn an_amount_at_its_limits_is_within_them() {
        let limits = Limits { conversations: Some(2), stored_bytes: Some(100), ..Limits::default() };
        let check = |conversations: u64, bytes: u64, limits: &Limits, expected: bool| {
            assert_eq!(is_within(Storage { conversations, bytes }, limits), expected, "{conversations} {bytes}");
        };
        check(2, 100, &limits, true);
        check(3, 100, &limits, false);
        check(2, 101, &limits, false);
        check(u64::MAX, u64::MAX, &Limits::default(), true);
    }

    #[test]
    fn subjects_and_their_rows_have_one_scope() {
        let tenant = TenantId::parse("acme").unwrap();
        let owners = [ada(), Owner::Session(SessionId::parse("ada").unwrap())];
        let of = |owner: Option<&Owner>| {
            let subjects = subjects_of(&tenant, &agent(), owner);
            subjects.into_iter().map(|subject| (subject.scope, subject.name)).collect::<Vec<_>>()
        };
        let scopes = |owner: Option<&Owner>| of(owner).into_iter().map(|(scope, _)| scope).collect::<Vec<_>>();
        assert_eq!(scopes(None), [Scope::Tenant, Scope::Agent]);
        for owner in &owners {
            assert_eq!(scopes(Some(owner)), [Scope::Tenant, Scope::Agent, Scope::Owner]);
        }
        // A user and a session with one name are two subjects.
        let [user, session] = owners.each_ref().map(|owner| of(Some(owner)).pop());
        assert_ne!(user, session);
        let check = |scope, owner: Option<&Owner>, expected: StorageScope| {
            assert_eq!(stored_by(scope, &agent(), owner), expected);
        };
        check(Scope::Tenant, Some(&ada()), StorageScope::Tenant);
        check(Scope::Agent, Some(&ada()), StorageScope::Agent(agent()));
        check(Scope::Owner, Some(&ada()), StorageScope::Owner(agent(), ada()));
    }
}
