//! The conversations of the record as their last commits tell them, asked of the leaders: one just begun is not missed.

use domain::{
    ConversationId, ConversationKey, Owner, Partition, RequestDigest, Status, TenantId, Version,
};
use event_log::Record;
use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::entry::{Entry, entry};

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
