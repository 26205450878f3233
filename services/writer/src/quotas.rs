//! What tenants, agents and owners may append: bytes a minute, and conversations.
//!
//! Bytes are counted in memory, by this process alone. Conversations are those of the read model and what this process has
//! begun since it read them; the reads are few, since a count is kept for longer the further it is from its quota. Where the
//! read model does not answer, the last known count is in force: appends never depend on Postgres.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::quotas::{Bucket, Exceeded, Quota, QuotaSet, Scope, Subject, check};
use domain::{Action, Owner};
use event_log::registry::of_exceeded;
use quick_cache::sync::Cache;
use read_model::queries::{CountedBy, count_conversations};
use tokio::time::timeout;
use wire::status::Problem;

use crate::commit::Intent;
use crate::{Writer, metrics};

/// Most subjects that are remembered; the least used begin anew.
pub const SUBJECTS_MAX: usize = 100_000;
/// For how long a count of conversations is in force near its quota, below nine tenths of it, and below a half of it.
const FRESH_MS: [u64; 3] = [10_000, 60_000, 300_000];
/// The longest wait for a count.
const COUNT_MAX: Duration = Duration::from_millis(500);
const NANOS_PER_MS: i64 = 1_000_000;

/// Quotas of a writer, and what counts against them.
#[derive(Debug)]
pub struct WriteQuotas {
    deployment: QuotaSet,
    buckets: Cache<Subject, Arc<Mutex<Bucket>>>,
    conversations: Cache<Subject, Arc<tokio::sync::Mutex<Conversations>>>,
}

/// The conversations of one subject.
#[derive(Debug, Default)]
struct Conversations {
    counted: u64,
    /// Begun by this process since they were counted, or at all.
    begun_since: u64,
    fresh_until_ms: u64,
    is_counted: bool,
}

impl Conversations {
    /// Takes what the read model counts. At first it may lack what this process has just begun.
    fn take(&mut self, counted: u64) {
        let begun = if self.is_counted { 0 } else { self.begun_since };
        self.counted = counted.max(begun);
        self.begun_since = 0;
        self.is_counted = true;
    }
}

impl WriteQuotas {
    /// Quotas where the registry says nothing.
    #[must_use]
    pub fn new(deployment: QuotaSet) -> Self {
        Self {
            deployment,
            buckets: Cache::new(SUBJECTS_MAX),
            conversations: Cache::new(SUBJECTS_MAX),
        }
    }

    /// Takes the bytes of a commit from everyone whom it counts against. What ends, stops or erases is counted and never
    /// refused.
    ///
    /// # Errors
    /// `QUOTA_EXCEEDED`.
    pub fn take_bytes(
        &self,
        writer: &Writer,
        intent: &Intent,
        (owner, bytes): (Option<&Owner>, usize),
    ) -> Result<(), Problem> {
        let quotas = self.in_force(writer, intent);
        let (now_ms, bytes) = (now_ms(writer), u64::try_from(bytes).unwrap_or(u64::MAX));
        let may_be_refused = may_be_refused(&intent.command.action);
        for subject in subjects(intent, owner) {
            let bound = quotas.of(subject.scope).appended_bytes_per_minute;
            let Some(bound) = bound else { continue };
            let none = || Ok::<_, Infallible>(Arc::default());
            let Ok(bucket) = self.buckets.get_or_insert_with(&subject, none);
            let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
            if !may_be_refused {
                bucket.charge(now_ms, bound, bytes);
            } else if let Err(empty) = bucket.take(now_ms, bound, bytes) {
                return Err(refused(&Exceeded {
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

    /// Counts a conversation that is to begin against everyone whom it belongs to.
    ///
    /// # Errors
    /// `QUOTA_EXCEEDED`.
    pub async fn check_conversations(
        &self,
        writer: &Writer,
        intent: &Intent,
    ) -> Result<(), Problem> {
        let Action::Create { created, .. } = &intent.command.action else {
            return Ok(());
        };
        let quotas = self.in_force(writer, intent);
        let mut widest = u64::MAX;
        for subject in subjects(intent, Some(&created.owner)) {
            let Some(bound) = quotas.of(subject.scope).conversations else {
                continue;
            };
            // Who is part of fewer than the quota has no more than those: the read model need not be asked.
            if widest < bound {
                self.held(&subject).lock().await.begun_since += 1;
                continue;
            }
            let by = counted_by(&subject, intent, Some(&created.owner));
            widest = self.count(writer, intent, (subject, by), bound).await?;
        }
        Ok(())
    }

    /// Counts one more conversation of a subject; how many there are then.
    async fn count(
        &self,
        writer: &Writer,
        intent: &Intent,
        (subject, by): (Subject, CountedBy<'_>),
        bound: u64,
    ) -> Result<u64, Problem> {
        let held = self.held(&subject);
        let mut held = held.lock().await;
        let now_ms = now_ms(writer);
        if now_ms >= held.fresh_until_ms {
            let access = &intent.access.tenant;
            let counting = count_conversations(&writer.read_model, access, by, bound);
            if let Ok(Ok(counted)) = timeout(COUNT_MAX, counting).await {
                held.take(counted);
            }
            held.fresh_until_ms = now_ms + fresh_ms(held.counted, bound);
        }
        let used = held.counted.saturating_add(held.begun_since);
        let of = (subject.scope, Quota::Conversations);
        let retry_after = Duration::from_millis(held.fresh_until_ms.saturating_sub(now_ms).max(1));
        check(of, Some(bound), (used, 1), retry_after).map_err(|exceeded| refused(&exceeded))?;
        held.begun_since += 1;
        Ok(used + 1)
    }

    fn held(&self, subject: &Subject) -> Arc<tokio::sync::Mutex<Conversations>> {
        let none = || Ok::<_, Infallible>(Arc::default());
        let Ok(held) = self.conversations.get_or_insert_with(subject, none);
        held
    }

    fn in_force(&self, writer: &Writer, intent: &Intent) -> QuotaSet {
        let (tenant, agent) = (&intent.key.tenant, &intent.command.agent);
        writer.registry.quotas(&self.deployment, tenant, agent)
    }
}

/// Everyone whom a commit counts against, the widest first.
fn subjects(intent: &Intent, owner: Option<&Owner>) -> impl Iterator<Item = Subject> {
    let tenant = intent.key.tenant.as_str();
    let subject = |scope, name: String| Subject {
        scope,
        tenant: tenant.to_owned(),
        name,
    };
    let agent = intent.command.agent.as_str();
    let owner = owner.map(|owner| match owner {
        Owner::User(user) => format!("{agent}/user/{}", user.as_str()),
        Owner::Channel(channel) => format!("{agent}/channel/{}", channel.as_str()),
        Owner::Session(session) => format!("{agent}/session/{}", session.as_str()),
    });
    [
        Some(subject(Scope::Tenant, String::new())),
        Some(subject(Scope::Agent, agent.to_owned())),
        owner.map(|name| subject(Scope::Owner, name)),
    ]
    .into_iter()
    .flatten()
}

fn counted_by<'i>(
    subject: &Subject,
    intent: &'i Intent,
    owner: Option<&'i Owner>,
) -> CountedBy<'i> {
    let agent = &intent.command.agent;
    match (subject.scope, owner) {
        (Scope::Owner, Some(owner)) => CountedBy::Owner(agent, owner),
        (Scope::Agent, _) => CountedBy::Agent(agent),
        _ => CountedBy::Tenant,
    }
}

/// What adds to a conversation may be refused; what ends or removes something may not.
fn may_be_refused(action: &Action) -> bool {
    matches!(
        action,
        Action::Create { .. } | Action::Append(_) | Action::StartRun(_)
    )
}

fn fresh_ms(counted: u64, bound: u64) -> u64 {
    let [near, below, far] = FRESH_MS;
    if counted < bound / 2 {
        far
    } else if bound.saturating_sub(counted) > (bound / 10).max(1) {
        below
    } else {
        near
    }
}

fn now_ms(writer: &Writer) -> u64 {
    u64::try_from(writer.now().0 / NANOS_PER_MS).unwrap_or_default()
}

fn refused(exceeded: &Exceeded) -> Problem {
    metrics::quota_exceeded(exceeded);
    of_exceeded(exceeded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_kept_for_longer_far_from_its_quota() {
        for (counted, bound, expected) in [
            (0, 0, 10_000),
            (0, 1, 10_000),
            (49, 100, 300_000),
            (50, 100, 60_000),
            (89, 100, 60_000),
            (90, 100, 10_000),
            (100, 100, 10_000),
        ] {
            assert_eq!(fresh_ms(counted, bound), expected, "{counted} of {bound}");
        }
    }
}
