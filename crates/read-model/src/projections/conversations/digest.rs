//! The digest of each partition, updated in the transaction that writes its rows.
//!
//! The digest is the XOR of a hash of each conversation's last version and sequence. Each commit names the previous one, so
//! the statement that advances the checkpoint also updates the digest, without reading rows. This assumes that all commits
//! are written; erased and parked conversations are corrected afterwards. A commit that was never projected remains visible
//! in the digest.

use std::collections::{BTreeMap, HashMap};

use domain::{ConversationKey, Partition, Sequence, SetDigest, Version};
use sqlx::Row as _;
use sqlx::postgres::PgConnection;
use wire::commit::StoredCommit;

use super::batch::{Batch, Item};
use super::group::{Group, is_tombstone};
use super::row_key::parse_key;
use crate::arguments::{arguments, bind_keys, execute, unsigned};
use crate::error::ReadModelError;

/// The digests of conversations before the transaction.
pub(super) type Digests = HashMap<ConversationKey, SetDigest>;

/// The change of the digest if the whole batch is written.
pub(super) fn full_change(items: &[Item]) -> SetDigest {
    let mut change = SetDigest::default();
    for item in items {
        if let Item::Commit(commit) = item {
            change.toggle(commit_change(commit));
        }
    }
    change
}

/// The digests of the conversations that the groups erase. Their tombstones do not name the last projected commit.
pub(super) async fn digests_of_erased(
    connection: &mut PgConnection,
    groups: &[Group<'_>],
) -> Result<Digests, ReadModelError> {
    digests_of(connection, groups.iter().filter(|group| group.is_erased())).await
}

pub(super) async fn digests_of<'g, 'b: 'g>(
    connection: &mut PgConnection,
    groups: impl IntoIterator<Item = &'g Group<'b>>,
) -> Result<Digests, ReadModelError> {
    let keys: Vec<_> = groups.into_iter().map(|group| (group.tenant, group.conversation)).collect();
    if keys.is_empty() {
        return Ok(Digests::new());
    }
    let query = sqlx::query_with(include_str!("conversation_sequences.sql"), bind_keys(keys));
    let mut digests = Digests::new();
    for row in query.fetch_all(connection).await? {
        let key = parse_key(row.try_get("tenant_id")?, row.try_get("conversation_id")?)?;
        let version = Version(unsigned(row.try_get("version")?));
        let sequence = Sequence(unsigned(row.try_get("sequence")?));
        let digest = SetDigest::of(&key.tenant, &key.conversation, version, sequence);
        digests.insert(key, digest);
    }
    Ok(digests)
}

/// Corrects the digests of batches that were written only partly, or that erased a conversation.
pub(super) async fn correct(
    connection: &mut PgConnection,
    batches: &[Batch],
    groups: &[Group<'_>],
    mut before: Digests,
) -> Result<(), ReadModelError> {
    if groups.iter().all(is_fully_written) {
        return Ok(());
    }
    let mut changes: BTreeMap<Partition, SetDigest> =
        batches.iter().map(|batch| (batch.lease.partition, full_change(&batch.items))).collect();
    for group in groups {
        let change = changes.entry(group.partition).or_default();
        for commit in &group.commits {
            change.toggle(commit_change(commit));
        }
        if group.is_erased()
            && let Some(digest) = before.remove(&group.key())
        {
            change.toggle(digest);
        }
    }
    toggle(connection, changes).await
}

/// Replaces the digests before the transaction with those of the last written commits.
pub(super) async fn advance<'g, 'b: 'g>(
    connection: &mut PgConnection,
    groups: impl IntoIterator<Item = &'g Group<'b>>,
    mut before: Digests,
) -> Result<(), ReadModelError> {
    let mut changes: BTreeMap<Partition, SetDigest> = BTreeMap::new();
    for group in groups {
        if let Some(last) = group.commits.last() {
            let change = changes.entry(group.partition).or_default();
            change.toggle(last_digest(last));
            change.toggle(before.remove(&group.key()).unwrap_or_default());
        }
    }
    toggle(connection, changes).await
}

fn is_fully_written(group: &Group<'_>) -> bool {
    group.queue.is_empty() && group.superseded.is_empty() && !group.is_erased()
}

/// The change by one commit: removes the previous commit and adds this one. A tombstone removes nothing: the previous commit
/// may be deleted.
fn commit_change(stored: &StoredCommit) -> SetDigest {
    let mut change = last_digest(stored);
    let commit = &stored.opened.commit;
    let before = commit.head.recent.iter().rev().nth(1);
    if let Some(before) = before.filter(|_| !is_tombstone(stored)) {
        change.toggle(SetDigest::of(
            &commit.tenant,
            &commit.conversation,
            before.last_version,
            before.sequence.unwrap_or_default(),
        ));
    }
    change
}

fn last_digest(stored: &StoredCommit) -> SetDigest {
    let commit = &stored.opened.commit;
    let (version, sequence) = (commit.head.version, stored.position.sequence);
    SetDigest::of(&commit.tenant, &commit.conversation, version, sequence)
}

async fn toggle(
    connection: &mut PgConnection,
    mut changes: BTreeMap<Partition, SetDigest>,
) -> Result<(), ReadModelError> {
    changes.retain(|_, change| !change.is_empty());
    if changes.is_empty() {
        return Ok(());
    }
    let partitions: Vec<i32> = changes.keys().map(|partition| i32::from(partition.0)).collect();
    let changes: Vec<String> = changes.values().map(ToString::to_string).collect();
    let arguments = arguments![partitions, changes];
    execute(connection, include_str!("toggle_digests.sql"), arguments).await?;
    Ok(())
}
