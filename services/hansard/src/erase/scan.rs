//! The conversations of the record as their last commits tell them, asked of the leaders: one just begun is not missed.

use std::collections::HashSet;

use domain::{
    ConversationId, ConversationKey, Owner, Partition, RequestDigest, Sequence, Status, TenantId,
    Version,
};
use event_log::Record;
use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::entry::{Entry, entry};
use super::tombstone::remove;

/// Heads that are read at a time.
const READS_IN_FLIGHT: usize = 32;

/// A conversation as it stands; about 300 bytes are held of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The conversation.
    pub key: ConversationKey,
    /// How many commits of it the record holds.
    pub commits: u64,
    /// Its version.
    pub version: Version,
    /// Whether it is erased.
    pub status: Status,
    /// Who it belongs to; nobody once erased.
    pub owner: Option<Owner>,
    /// What it goes on from, where it is a fork.
    pub forked_from: Option<ConversationId>,
    /// What its last commit was asked for by: the mark of a job, on a tombstone.
    pub mark: Option<RequestDigest>,
    /// What a receipt says of it.
    pub entry: Entry,
    /// Whether it is erased, and more of it than its tombstone may be left: commits, parts of runs or logged calls.
    pub is_pending: bool,
}

/// Marks the erased conversations that the list of erasures in progress names.
///
/// # Errors
/// The record does not answer.
pub async fn mark_pending(record: &Record, found: &mut [Found]) -> anyhow::Result<()> {
    let listed = record.count_pending_erasures().await?;
    let listed = usize::try_from(listed).unwrap_or(usize::MAX);
    let entries = record.pending_erasures(Sequence(0), listed).await?;
    let keys: HashSet<ConversationKey> = entries.into_iter().map(|entry| entry.key).collect();
    for one in found {
        one.is_pending |= one.status == Status::Erased && keys.contains(&one.key);
    }
    Ok(())
}

/// Finishes every erasure of some conversations that left commits behind its tombstone; how many there were.
///
/// # Errors
/// The record does not answer: run again.
pub async fn finish_all(record: &Record, found: &[Found]) -> anyhow::Result<u64> {
    let mut commits = 0;
    for one in found.iter().filter(|one| one.is_pending) {
        commits += remove(record, &one.key).await?.commits;
    }
    Ok(commits)
}

/// The conversations of a tenant, or of all.
///
/// # Errors
/// The record does not answer, or a last commit cannot be read.
pub async fn scan(record: &Record, tenant: Option<&TenantId>) -> anyhow::Result<Vec<Found>> {
    let mut found = Vec::new();
    for partition in (0..record.partitions()).map(Partition) {
        let listed = record.conversations(partition, tenant).await?;
        let reads = stream::iter(listed)
            .map(|listed| read(record, listed.key, listed.commits))
            .buffer_unordered(READS_IN_FLIGHT);
        let read: Vec<Option<Found>> = reads.try_collect().await?;
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
) -> anyhow::Result<Option<Found>> {
    let Some(last) = record.last_from_leader(&key).await? else {
        return Ok(None);
    };
    let head = last.open_head()?;
    Ok(Some(Found {
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
