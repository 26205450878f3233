//! Lists the conversations of the record with their heads, read from the stream leaders so that none is missed.

use std::collections::HashSet;

use domain::{
    ConversationId, ConversationKey, Owner, Partition, RequestDigest, Sequence, Status, TenantId,
    Version,
};
use event_log::Record;
use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::entry::{Entry, entry};
use super::tombstone::overwrite;

/// Heads that are read concurrently.
const READS_IN_FLIGHT: usize = 32;

/// A conversation of the record; about 300 bytes of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScannedConversation {
    /// The conversation.
    pub(crate) key: ConversationKey,
    /// The number of its commits in the record.
    pub(crate) commits: u64,
    pub(crate) version: Version,
    /// Whether it is erased.
    pub(crate) status: Status,
    /// Its owner; `None` if it is erased.
    pub(crate) owner: Option<Owner>,
    /// The parent of a fork.
    pub(crate) forked_from: Option<ConversationId>,
    /// The request digest of the last commit. In a tombstone, it is the mark of the job.
    pub(crate) mark: Option<RequestDigest>,
    /// Its entry in a receipt.
    pub(crate) entry: Entry,
    /// Whether it is erased, but commits, parts of runs or logged calls may remain besides the tombstone.
    pub(crate) is_pending: bool,
}

/// Sets `is_pending` of the conversations in the list of erasures in progress.
pub(crate) async fn mark_pending(
    record: &Record,
    found: &mut [ScannedConversation],
) -> anyhow::Result<()> {
    let listed = record.count_pending_erasures().await?;
    let listed = usize::try_from(listed).unwrap_or(usize::MAX);
    let entries = record.pending_erasures(Sequence(0), listed).await?;
    let keys: HashSet<ConversationKey> = entries.into_iter().map(|entry| entry.key).collect();
    for one in found {
        one.is_pending |= one.status == Status::Erased && keys.contains(&one.key);
    }
    Ok(())
}

/// Completes the interrupted erasures among some conversations. Returns the number of overwritten commits.
pub(crate) async fn finish_all(
    record: &Record,
    found: &[ScannedConversation],
) -> anyhow::Result<u64> {
    let mut commits = 0;
    for one in found.iter().filter(|one| one.is_pending) {
        commits += overwrite(record, &one.key).await?.commits;
    }
    Ok(commits)
}

/// Lists the conversations of a tenant, or of all tenants.
pub(crate) async fn scan(
    record: &Record,
    tenant: Option<&TenantId>,
) -> anyhow::Result<Vec<ScannedConversation>> {
    let mut found = Vec::new();
    for partition in (0..record.partitions()).map(Partition) {
        let listed = record.conversations(partition, tenant).await?;
        let reads = stream::iter(listed)
            .map(|listed| read(record, listed.key, listed.commits))
            .buffer_unordered(READS_IN_FLIGHT);
        let read: Vec<Option<ScannedConversation>> = reads.try_collect().await?;
        found.extend(read.into_iter().flatten());
    }
    found.sort_unstable_by(|one, other| {
        let name = |key: &ConversationKey| (key.tenant.clone(), key.conversation.clone());
        name(&one.key).cmp(&name(&other.key))
    });
    Ok(found)
}

async fn read(
    record: &Record,
    key: ConversationKey,
    commits: u64,
) -> anyhow::Result<Option<ScannedConversation>> {
    let Some(last) = record.last_from_leader(&key).await? else {
        return Ok(None);
    };
    let head = last.open_head()?;
    Ok(Some(ScannedConversation {
        is_pending: head.status == Status::Erased && commits > 1,
        commits,
        version: head.version,
        status: head.status,
        mark: head.recent.last().map(|commit| commit.request_digest),
        entry: entry(&key, &head, last.position),
        forked_from: head.forked_from.map(|point| point.conversation),
        owner: head.owner,
        key,
    }))
}
