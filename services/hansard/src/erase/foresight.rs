//! What an erasure would meet, before it changes anything.

use std::collections::BTreeSet;

use archive::ArchiveError;
use domain::ConversationKey;
use event_log::Registry;

use super::job::Job;
use super::plan::{ForkRule, Plan};
use super::subject::Subject;

/// What is seen ahead of an erasure, beside its plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foresight {
    /// Archived commits that would go; `None`: the archive cannot be read.
    pub archived: Option<u64>,
    /// Why nothing would be erased, a reason each.
    pub refusals: Vec<String>,
}

impl Job {
    /// Looks ahead. Changes nothing.
    ///
    /// # Errors
    /// The record does not answer.
    pub async fn foresee(&self, plan: &Plan) -> anyhow::Result<Foresight> {
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
        Ok(Foresight { archived, refusals })
    }

    async fn archived(&self, plan: &Plan) -> Result<u64, ArchiveError> {
        self.archive.check_reachable().await?;
        let forks = plan.forks.iter().filter(|_| self.forks != ForkRule::Refuse);
        let all = plan.claimed.iter().chain(forks);
        let all = all.chain(&plan.unfinished).chain(&plan.done);
        let keys: BTreeSet<ConversationKey> = all.map(|found| found.key.clone()).collect();
        self.archive.commits_held(&keys).await
    }

    /// Whether the record knows anything of the subject: a conversation that stands or is erased, or an entry that a tenant
    /// has in the registry or had. An erasure of what nobody knows proves nothing.
    ///
    /// # Errors
    /// The record does not answer.
    pub async fn is_known(&self, plan: &Plan) -> anyhow::Result<bool> {
        if !plan.claimed.is_empty() || !plan.done.is_empty() {
            return Ok(true);
        }
        let Subject::Tenant(tenant) = &self.subject else {
            return Ok(false);
        };
        let registry = Registry::open(&self.record).await?;
        Ok(registry.has_known(tenant).await?)
    }
}
