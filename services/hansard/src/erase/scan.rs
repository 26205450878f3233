//! Lists the conversations of the record with their heads, read from the stream leaders and the archive so that none is missed.

use std::collections::HashSet;

use archive::Archive;
use domain::{
    ConversationId, ConversationKey, Head, Owner, Partition, Position, RequestDigest, Sequence, Status, TenantId,
};
use event_log::{Record, StoredMessage};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde::{Deserialize, Serialize};

use super::tombstone::overwrite;
use crate::view::when::rfc3339;

/// Heads that are read concurrently.
const READS_IN_FLIGHT: usize = 32;

/// A conversation of the record; about 300 bytes of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScannedConversation {
    /// The conversation.
    pub(crate) key: ConversationKey,
    /// The number of its commits in the record.
    pub(crate) commits: u64,
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

/// An erased conversation in a receipt: position and time, no content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Entry {
    pub(crate) tenant: String,
    /// The id of the conversation.
    pub(crate) conversation: String,
    /// The version of the tombstone: the number of events, including inherited ones.
    pub(crate) version: u64,
    /// The number of commits, including the tombstone.
    pub(crate) commits: u64,
    /// The hash chain over all commits, hexadecimal. It proves whether a copy equals what was erased.
    pub(crate) chain: String,
    /// The time of the tombstone, RFC 3339.
    pub(crate) erased_at: String,
    /// The partition of the tombstone.
    pub(crate) partition: u16,
    /// The stream sequence of the tombstone.
    pub(crate) sequence: u64,
}

impl Entry {
    fn of(key: &ConversationKey, head: &Head, position: Position) -> Self {
        Self {
            tenant: key.tenant.to_string(),
            conversation: key.conversation.to_string(),
            version: head.version.0,
            commits: head.totals.commits,
            chain: head.chain.to_string(),
            erased_at: rfc3339(head.recorded_at),
            partition: position.partition.0,
            sequence: position.sequence.0,
        }
    }
}

/// Sets `is_pending` of the conversations in the list of erasures in progress.
pub(crate) async fn mark_pending(record: &Record, found: &mut [ScannedConversation]) -> anyhow::Result<()> {
    let listed = usize::try_from(record.count_pending_erasures().await?).unwrap_or(usize::MAX);
    let entries = record.pending_erasures(Sequence(0), listed).await?;
    let keys: HashSet<ConversationKey> = entries.into_iter().map(|entry| entry.key).collect();
    for one in found {
        one.is_pending |= one.status == Status::Erased && keys.contains(&one.key);
    }
    Ok(())
}

/// Completes the interrupted erasures among some conversations. Returns the number of overwritten commits.
pub(crate) async fn finish_all(record: &Record, found: &[ScannedConversation]) -> anyhow::Result<u64> {
    let mut commits = 0;
    for one in found.iter().filter(|one| one.is_pending) {
        commits += overwrite(record, &one.key).await?.commits;
    }
    Ok(commits)
}

/// Lists the conversations of a tenant, or of all tenants, with the hibernated ones.
pub(crate) async fn scan(archive: &Archive, tenant: Option<&TenantId>) -> anyhow::Result<Vec<ScannedConversation>> {
    let record = archive.record();
    let mut found = scan_record(record, tenant).await?;
    let known: HashSet<ConversationKey> = found.iter().map(|one| one.key.clone()).collect();
    for partition in (0..record.partitions()).map(Partition) {
        let keys = archive
            .hibernated_conversations(partition)
            .await?
            .into_keys()
            .filter(|key| !known.contains(key))
            .filter(|key| tenant.is_none_or(|tenant| key.tenant == *tenant));
        let reads = stream::iter(keys).map(|key| read_hibernated(archive, key)).buffer_unordered(READS_IN_FLIGHT);
        let read: Vec<Option<ScannedConversation>> = reads.try_collect().await?;
        found.extend(read.into_iter().flatten());
    }
    found.sort_unstable_by(|one, other| one.key.cmp(&other.key));
    Ok(found)
}

/// Lists the conversations of a tenant, or of all tenants, that are in the record.
pub(crate) async fn scan_record(
    record: &Record,
    tenant: Option<&TenantId>,
) -> anyhow::Result<Vec<ScannedConversation>> {
    let mut found = Vec::new();
    for partition in (0..record.partitions()).map(Partition) {
        let listed = record.conversations(partition, tenant).await?;
        let reads = stream::iter(listed)
            .map(|listed| read(record, partition, listed.key, listed.commits))
            .buffer_unordered(READS_IN_FLIGHT);
        let read: Vec<Option<ScannedConversation>> = reads.try_collect().await?;
        found.extend(read.into_iter().flatten());
    }
    Ok(found)
}

/// Reads a conversation that was listed in a partition; `None`: it has no commit there.
async fn read(
    record: &Record,
    partition: Partition,
    key: ConversationKey,
    commits: u64,
) -> anyhow::Result<Option<ScannedConversation>> {
    let last = record.last_from_leader(&key).await?;
    let Some(last) = last.filter(|last| last.position.partition == partition) else {
        return Ok(None);
    };
    Ok(Some(scanned(key, commits, &last)?))
}

/// Reads a hibernated conversation; `None`: it was woken since.
async fn read_hibernated(archive: &Archive, key: ConversationKey) -> anyhow::Result<Option<ScannedConversation>> {
    let last = archive.last_commit(&key).await?;
    let scanned = last.map(|last| scanned(key, 0, &last));
    scanned.transpose()
}

fn scanned(key: ConversationKey, commits: u64, last: &StoredMessage) -> anyhow::Result<ScannedConversation> {
    let head = last.open_head()?;
    Ok(ScannedConversation {
        is_pending: head.status == Status::Erased && commits > 1,
        commits,
        status: head.status,
        mark: head.recent.last().map(|commit| commit.request_digest),
        entry: Entry::of(&key, &head, last.position),
        forked_from: head.forked_from.map(|point| point.conversation),
        owner: head.owner,
        key,
    })
}
