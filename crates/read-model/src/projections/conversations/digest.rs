//! The digest of what each partition holds, kept in the transaction that writes it.
//!
//! Each commit names the one before it, so a batch moves the digest without a row being read, in the statement that moves
//! the checkpoint. A conversation that is erased or parked is seen only later: for those, what was presumed is corrected.
//! A commit that was never projected stays in the digest as its hole.

use std::collections::{BTreeMap, HashMap};

use domain::{ConversationKey, Partition, Sequence, SetDigest, Version};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgConnection};
use wire::commit::StoredCommit;

use super::batch::{Batch, Item};
use super::group::{Group, is_tombstone};
use super::row_key::key_of;
use crate::error::ReadModelError;
use crate::queries::bind;

/// Where conversations stood before the transaction wrote them.
pub(super) type Left = HashMap<ConversationKey, SetDigest>;

/// What a batch does to the digest when all of it is written.
pub(super) fn presumed(items: &[Item]) -> SetDigest {
    let mut change = SetDigest::default();
    for item in items {
        if let Item::Commit(commit) = item {
            change.toggle(moved(commit));
        }
    }
    change
}

/// Where the conversations stand that the groups erase: their tombstones do not say what was projected of them.
pub(super) async fn left_by_erased(
    connection: &mut PgConnection,
    groups: &[Group<'_>],
) -> Result<Left, ReadModelError> {
    let erased: Vec<&Group<'_>> = groups.iter().filter(|group| group.is_erased()).collect();
    standings(connection, &erased).await
}

/// Where the groups' conversations stand.
pub(super) async fn left_by(
    connection: &mut PgConnection,
    groups: &[Group<'_>],
) -> Result<Left, ReadModelError> {
    standings(connection, &groups.iter().collect::<Vec<_>>()).await
}

/// Mends what was presumed of batches of which not all was written, or something was erased.
pub(super) async fn correct(
    connection: &mut PgConnection,
    batches: &[Batch],
    groups: &[Group<'_>],
    mut left: Left,
) -> Result<(), ReadModelError> {
    if groups.iter().all(is_as_presumed) {
        return Ok(());
    }
    let mut changes: BTreeMap<Partition, SetDigest> = batches
        .iter()
        .map(|batch| (batch.lease.partition, presumed(&batch.items)))
        .collect();
    for group in groups {
        let change = changes.entry(group.partition).or_default();
        for commit in &group.commits {
            change.toggle(moved(commit));
        }
        if group.is_erased()
            && let Some(left) = left.remove(&group.key())
        {
            change.toggle(left);
        }
    }
    toggle(connection, changes).await
}

/// Moves the digest from where the conversations were `left` to the last commits that were written of them.
pub(super) async fn move_on<'g, 'b: 'g>(
    connection: &mut PgConnection,
    groups: impl IntoIterator<Item = &'g Group<'b>>,
    mut left: Left,
) -> Result<(), ReadModelError> {
    let mut changes: BTreeMap<Partition, SetDigest> = BTreeMap::new();
    for group in groups {
        if let Some(last) = group.commits.last() {
            let change = changes.entry(group.partition).or_default();
            change.toggle(standing(last));
            change.toggle(left.remove(&group.key()).unwrap_or_default());
        }
    }
    toggle(connection, changes).await
}

fn is_as_presumed(group: &Group<'_>) -> bool {
    group.queue.is_empty() && group.superseded.is_empty() && !group.is_erased()
}

/// What a commit takes out of the digest and puts in. A tombstone takes nothing out: what came before it may be gone.
fn moved(stored: &StoredCommit) -> SetDigest {
    let mut change = standing(stored);
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

fn standing(stored: &StoredCommit) -> SetDigest {
    let commit = &stored.opened.commit;
    let (version, sequence) = (commit.head.version, stored.position.sequence);
    SetDigest::of(&commit.tenant, &commit.conversation, version, sequence)
}

async fn standings(
    connection: &mut PgConnection,
    groups: &[&Group<'_>],
) -> Result<Left, ReadModelError> {
    if groups.is_empty() {
        return Ok(Left::new());
    }
    let tenants: Vec<&str> = groups.iter().map(|group| group.tenant.as_str()).collect();
    let conversations: Vec<&str> = groups
        .iter()
        .map(|group| group.conversation.as_str())
        .collect();
    let arguments = bind(bind(PgArguments::default(), tenants), conversations);
    let query = sqlx::query_with(include_str!("standings.sql"), arguments);
    let mut left = Left::with_capacity(groups.len());
    for row in query.fetch_all(connection).await? {
        let key = key_of(row.try_get(0)?, row.try_get(1)?)?;
        let number = |number: i64| u64::try_from(number).unwrap_or(0);
        let version = Version(number(row.try_get(2)?));
        let sequence = Sequence(number(row.try_get(3)?));
        let standing = SetDigest::of(&key.tenant, &key.conversation, version, sequence);
        left.insert(key, standing);
    }
    Ok(left)
}

async fn toggle(
    connection: &mut PgConnection,
    mut changes: BTreeMap<Partition, SetDigest>,
) -> Result<(), ReadModelError> {
    changes.retain(|_, change| !change.is_empty());
    if changes.is_empty() {
        return Ok(());
    }
    let partitions: Vec<i32> = changes
        .keys()
        .map(|partition| i32::from(partition.0))
        .collect();
    let changes: Vec<String> = changes.values().map(ToString::to_string).collect();
    let arguments = bind(bind(PgArguments::default(), partitions), changes);
    sqlx::query_with(include_str!("toggle_digests.sql"), arguments)
        .execute(connection)
        .await?;
    Ok(())
}
