//! The dry run of an erasure: what it would remove, and what prevents it.

use std::collections::BTreeSet;

use archive::ArchiveError;
use domain::ConversationKey;
use registry::Registry;

use super::job::Job;
use super::plan::{ForkRule, Plan};
use super::subject::Subject;

/// The result of a dry run, in addition to the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DryRun {
    /// Archived commits that would be removed; `None`: the archive cannot be read.
    pub(crate) archived: Option<u64>,
    /// The reasons why nothing would be erased.
    pub(crate) refusals: Vec<String>,
}

impl Job {
    /// Checks what an erasure would do. Changes nothing.
    pub(crate) async fn dry_run(&self, plan: &Plan) -> anyhow::Result<DryRun> {
        let refused = self.targets(plan).err();
        let mut refusals: Vec<String> = refused.iter().map(ToString::to_string).collect();
        let archived = match self.archived(plan).await {
            Ok(archived) => Some(archived),
            Err(error @ (ArchiveError::Record(_) | ArchiveError::Catalogue(_))) => {
                return Err(error.into());
            }
            Err(error) => {
                refusals.push(format!("{:#}", anyhow::Error::new(error)));
                None
            }
        };
        Ok(DryRun { archived, refusals })
    }

    async fn archived(&self, plan: &Plan) -> Result<u64, ArchiveError> {
        self.archive.check_reachable().await?;
        let forks = plan.forks.iter().filter(|_| self.forks != ForkRule::Refuse);
        let all = plan.conversations.iter().chain(forks).chain(&plan.unfinished).chain(&plan.done);
        let keys: BTreeSet<ConversationKey> = all.map(|found| found.key.clone()).collect();
        self.archive.count_archived_commits(&keys).await
    }

    /// Whether the subject exists or existed: it has a conversation, erased or not, or the tenant has or had an entry in the
    /// registry. The erasure of an unknown subject proves nothing.
    pub(crate) async fn is_known(&self, plan: &Plan) -> anyhow::Result<bool> {
        if !plan.conversations.is_empty() || !plan.done.is_empty() {
            return Ok(true);
        }
        let Subject::Tenant(tenant) = &self.subject else {
            return Ok(false);
        };
        let registry = Registry::open(&self.record).await?;
        Ok(registry.has_or_had_tenant(tenant).await?)
    }
}
