//! Executes an erasure in rounds, until a round finds nothing more.

use std::collections::BTreeMap;

use anyhow::bail;
use archive::{Archive, SweepResult};
use domain::{ConversationKey, RequestDigest};
use event_log::{ErasedCounts, Record};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use registry::Registry;

use super::keys::receipt_keys;
use super::plan::{ForkRule, Plan, plan};
use super::scan::{ScannedConversation, mark_pending, scan};
use super::subject::Subject;
use super::tombstone::erase;
use crate::progress::{Progress, grouped};

/// Conversations that are erased concurrently.
const ERASURES_IN_FLIGHT: usize = 8;
/// The maximum number of rounds. Each round erases the conversations that callers started during the previous one.
const ROUNDS_MAX: u32 = 100;

/// An erasure.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) record: Record,
    pub(crate) archive: Archive,
    /// What is erased.
    pub(crate) subject: Subject,
    /// What happens to forks.
    pub(crate) forks: ForkRule,
}

/// The result of an erasure.
#[derive(Debug, Clone, Default)]
pub(crate) struct ErasureResult {
    /// All erased conversations of the subject, by this run or an earlier one.
    pub(crate) conversations: Vec<ScannedConversation>,
    /// Commits that this run overwrote.
    pub(crate) commits: u64,
    /// Batches of parts of runs that this run overwrote.
    pub(crate) parts: u64,
    /// What this run removed from archived segments.
    pub(crate) swept: SweepResult,
    /// Entries of the registry that this run removed, by kind.
    pub(crate) registry: BTreeMap<String, u64>,
}

impl ErasureResult {
    fn add(&mut self, ErasedCounts { commits, parts }: ErasedCounts) {
        self.commits = self.commits.saturating_add(commits);
        self.parts = self.parts.saturating_add(parts);
    }
}

impl Job {
    /// Plans the erasure. Changes nothing.
    pub(crate) async fn plan(&self) -> anyhow::Result<Plan> {
        let mut found = scan(&self.archive, Some(self.subject.tenant())).await?;
        mark_pending(&self.record, &mut found).await?;
        let keys = self.record.existing_receipt_keys().await?;
        let mark = keys.map(|keys| self.subject.mark(keys.mark_secret()));
        Ok(plan(found, &self.subject, self.forks, mark))
    }

    /// The number of registry entries by kind, if the subject is a tenant.
    pub(crate) async fn registry_entries(&self) -> anyhow::Result<BTreeMap<String, u64>> {
        let Subject::Tenant(tenant) = &self.subject else {
            return Ok(BTreeMap::new());
        };
        let registry = Registry::open(&self.record).await?;
        Ok(registry.count_tenant_entries(tenant).await?)
    }

    /// Executes the erasure. The callers of an erased tenant are locked out first.
    ///
    /// # Errors
    /// The record does not answer (a repeated run resumes), or forks started meanwhile that the rule does not erase.
    pub(crate) async fn execute(&self, progress: &mut Progress) -> anyhow::Result<ErasureResult> {
        let mut erased = ErasureResult::default();
        let keys = receipt_keys(&self.record).await?;
        let mark = self.subject.mark(keys.mark_secret());
        self.record.ensure_erasures().await?;
        // Checked before anything changes: an unreachable archive cannot be erased.
        self.archive.check_reachable().await?;
        self.targets(&self.plan().await?)?;
        if let Subject::Tenant(tenant) = &self.subject {
            let registry = Registry::open(&self.record).await?;
            erased.registry = registry.remove_tenant(tenant).await?;
        }
        for _ in 0..ROUNDS_MAX {
            let plan = self.plan().await?;
            let targets = self.targets(&plan)?;
            if targets.is_empty() {
                let keys = plan.done.iter().map(|found| found.key.clone()).collect();
                // The archive is last, so that segments of a concurrent archive run are included.
                erased.swept = self.archive.sweep(&keys).await?;
                erased.conversations = plan.done;
                return Ok(erased);
            }
            self.round(targets, mark, &mut erased, progress).await?;
        }
        bail!("callers keep starting conversations: revoke their keys, then run the same command again")
    }

    pub(super) fn targets(&self, plan: &Plan) -> anyhow::Result<Vec<ConversationKey>> {
        if self.forks == ForkRule::Refuse && !plan.forks.is_empty() {
            let (count, names) = (plan.forks.len(), names(&plan.forks));
            bail!("{count} forks read through the conversations to erase: {names}; erase them with --forks erase");
        }
        let all = plan.conversations.iter().chain(&plan.forks).chain(&plan.unfinished);
        Ok(all.map(|found| found.key.clone()).collect())
    }

    async fn round(
        &self,
        targets: Vec<ConversationKey>,
        mark: RequestDigest,
        erased: &mut ErasureResult,
        progress: &mut Progress,
    ) -> anyhow::Result<()> {
        let (mut done, all) = (0_u64, targets.len());
        let mut erasures = stream::iter(targets)
            .map(|key| async move { erase(&self.archive, &key, mark).await })
            .buffer_unordered(ERASURES_IN_FLIGHT);
        while let Some(overwritten) = erasures.try_next().await? {
            done += 1;
            erased.add(overwritten);
            progress.advance(done, || format!("{} of {all} conversations", grouped(done)));
        }
        Ok(())
    }
}

/// The maximum number of names in a message.
const NAMES_MAX: usize = 20;

fn names(found: &[ScannedConversation]) -> String {
    let mut names: Vec<&str> = found.iter().map(|one| one.key.conversation.as_str()).take(NAMES_MAX + 1).collect();
    if names.len() > NAMES_MAX {
        names.pop();
        names.push("…");
    }
    names.join(", ")
}
