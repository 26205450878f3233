//! An erasure from its beginning to its end: rounds, until one finds nothing that is left.

use std::collections::BTreeMap;

use anyhow::bail;
use archive::{Archive, Swept};
use domain::{ConversationKey, RequestDigest};
use event_log::{Overwritten, Record, Registry};
use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::detach::detach;
use super::keys::receipt_keys;
use super::plan::{ForkRule, Plan, plan};
use super::scan::{Found, mark_pending, scan};
use super::subject::Subject;
use super::tombstone::erase;
use crate::progress::{Progress, grouped};

/// Conversations that are erased at a time.
const ERASURES_IN_FLIGHT: usize = 8;
/// Most rounds: each takes what was begun during the one before, by callers that are let in.
const ROUNDS_MAX: u32 = 100;

/// An erasure.
#[derive(Debug, Clone)]
pub struct Job {
    /// The record.
    pub record: Record,
    /// What of it is elsewhere.
    pub archive: Archive,
    /// Whose conversations go.
    pub subject: Subject,
    /// What becomes of forks.
    pub forks: ForkRule,
}

/// What an erasure came to.
#[derive(Debug, Clone, Default)]
pub struct Erased {
    /// All that is erased under the subject, by this run or an earlier one.
    pub conversations: Vec<Found>,
    /// Forks among them that live on as copies.
    pub detached: Vec<Found>,
    /// Commits that this run overwrote.
    pub commits: u64,
    /// Batches of parts of runs that this run overwrote.
    pub parts: u64,
    /// What this run took out of archived segments.
    pub swept: Swept,
    /// Entries of the registry that this run removed, by kind.
    pub registry: BTreeMap<String, u64>,
}

impl Erased {
    fn add(&mut self, Overwritten { commits, parts }: Overwritten) {
        self.commits = self.commits.saturating_add(commits);
        self.parts = self.parts.saturating_add(parts);
    }
}

impl Job {
    /// What there is to do. Changes nothing.
    ///
    /// # Errors
    /// As [`scan`].
    pub async fn plan(&self) -> anyhow::Result<Plan> {
        let mut found = scan(&self.record, Some(self.subject.tenant())).await?;
        mark_pending(&self.record, &mut found).await?;
        let keys = self.record.receipt_keys_made().await?;
        let mark = keys.map(|keys| self.subject.mark(keys.mark_secret()));
        Ok(plan(found, &self.subject, mark))
    }

    /// The entries that a tenant has in the registry, by kind; none are looked for unless a tenant goes.
    ///
    /// # Errors
    /// The record does not answer.
    pub async fn registry_entries(&self) -> anyhow::Result<BTreeMap<String, u64>> {
        let Subject::Tenant(tenant) = &self.subject else {
            return Ok(BTreeMap::new());
        };
        let registry = Registry::open(&self.record).await?;
        Ok(registry.entries_of_tenant(tenant).await?)
    }

    /// Erases, and goes round until nothing is left. A tenant's callers are shut out first.
    ///
    /// # Errors
    /// The record does not answer: run again, it goes on; or forks were begun meanwhile that the rule spares.
    pub async fn carry_out(&self, progress: &mut Progress) -> anyhow::Result<Erased> {
        let mut erased = Erased::default();
        let mark = self
            .subject
            .mark(receipt_keys(&self.record).await?.mark_secret());
        self.record.ensure_erasures().await?;
        // Before anybody is shut out, and before anything is gone: what cannot be reached cannot be erased.
        self.archive.check_reachable().await?;
        self.targets(&self.plan().await?)?;
        if let Subject::Tenant(tenant) = &self.subject {
            let registry = Registry::open(&self.record).await?;
            erased.registry = registry.remove_tenant(tenant).await?;
        }
        for _ in 0..ROUNDS_MAX {
            let plan = self.plan().await?;
            if self.forks == ForkRule::Detach && !plan.forks.is_empty() {
                self.detach(&plan.forks, mark, &mut erased).await?;
                continue;
            }
            let targets = self.targets(&plan)?;
            if targets.is_empty() {
                let keys = plan.done.iter().map(|found| found.key.clone()).collect();
                // Last, so that no archive that is being made meanwhile is missed.
                erased.swept = self.archive.sweep(&keys).await?;
                erased.conversations = plan.done;
                erased.detached = plan.detached;
                return Ok(erased);
            }
            self.round(targets, mark, &mut erased, progress).await?;
        }
        bail!("conversations keep being begun: shut their callers out, then run again")
    }

    pub(super) fn targets(&self, plan: &Plan) -> anyhow::Result<Vec<ConversationKey>> {
        if self.forks == ForkRule::Refuse && !plan.forks.is_empty() {
            let (some, them) = (plan.forks.len(), names(&plan.forks));
            bail!(
                "{some} forks read through what is to be erased: {them}; let them go too with --forks erase, or copy them first with --forks detach"
            );
        }
        let all = plan
            .claimed
            .iter()
            .chain(&plan.forks)
            .chain(&plan.unfinished);
        Ok(all.map(|found| found.key.clone()).collect())
    }

    /// Copies forks and erases them, each before those that it goes on from.
    async fn detach(
        &self,
        forks: &[Found],
        mark: RequestDigest,
        erased: &mut Erased,
    ) -> anyhow::Result<()> {
        for fork in forks.iter().rev() {
            erased.add(detach(&self.archive, &fork.key, mark).await?);
        }
        Ok(())
    }

    async fn round(
        &self,
        targets: Vec<ConversationKey>,
        mark: RequestDigest,
        erased: &mut Erased,
        progress: &mut Progress,
    ) -> anyhow::Result<()> {
        let (mut done, all) = (0_u64, targets.len());
        let mut erasures = stream::iter(targets)
            .map(|key| async move { erase(&self.record, &key, mark).await })
            .buffer_unordered(ERASURES_IN_FLIGHT);
        while let Some(overwritten) = erasures.try_next().await? {
            done += 1;
            erased.add(overwritten);
            progress.advance(done, || format!("{} of {all} conversations", grouped(done)));
        }
        Ok(())
    }
}

/// Most names that a message lists.
const NAMES_MAX: usize = 20;

fn names(found: &[Found]) -> String {
    let names = found.iter().map(|one| one.key.conversation.as_str());
    let mut names: Vec<&str> = names.take(NAMES_MAX + 1).collect();
    if names.len() > NAMES_MAX {
        names.pop();
        names.push("…");
    }
    names.join(", ")
}
