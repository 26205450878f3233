//! Writes the documents of batches and their checkpoints in one transaction.

use std::collections::{BTreeMap, HashSet};

use domain::{ConversationKey, Status};
use sqlx::postgres::PgConnection;
use sqlx::{Executor as _, Row as _};
use wire::commit::StoredCommit;

use super::agents::settings_of;
use super::keys::term_keys;
use super::rows::{Documents, Source};
use crate::arguments::{bind, bind_keys, execute, key_parts};
use crate::error::ReadModelError;
use crate::model::{Durability, ReadModel};
use crate::pg_timestamp::PgTimestamp;
use crate::projections::conversations::fence::{fence_arguments, fenced, in_lock_order};
use crate::projections::conversations::{Applied, ApplyError, Batch, Item};
use crate::projections::search_lock::LOCK_SHARED;

/// The commits of the conversations of some batches, in order. The last one shows whether a conversation is erased.
type Commits<'b> = BTreeMap<ConversationKey, Vec<&'b StoredCommit>>;

/// Writes the documents of batches of several partitions, at most one of each, and their checkpoints, in one transaction. Messages
/// that are not valid commits have no documents; the projection of conversations parks them.
///
/// # Errors
/// [`ApplyError`].
pub async fn apply(model: &ReadModel, batches: &[Batch]) -> Result<Applied, ApplyError> {
    let work = async |connection: &mut PgConnection| {
        fence(connection, batches).await?;
        connection.execute(LOCK_SHARED).await.map_err(ReadModelError::from)?;
        Ok(write(connection, batches).await?)
    };
    model.transaction(Durability::Repeatable, work).await
}

/// Advances and thereby locks the checkpoints.
async fn fence(connection: &mut PgConnection, batches: &[Batch]) -> Result<(), ApplyError> {
    let ordered = in_lock_order(batches);
    let times: Vec<Option<PgTimestamp>> = ordered.iter().map(|batch| last_recorded(batch)).collect();
    let query = sqlx::query_with(include_str!("fence.sql"), bind(fence_arguments(&ordered), times));
    let advanced = query.fetch_all(&mut *connection).await.map_err(ReadModelError::from)?;
    let fenced = fenced(connection, batches, &advanced).await?;
    if fenced.is_empty() { Ok(()) } else { Err(ApplyError::Fenced(fenced)) }
}

/// When the last commit of a batch was recorded.
fn last_recorded(batch: &Batch) -> Option<PgTimestamp> {
    let mut commits = batch.items.iter().filter_map(commit_of);
    let last = commits.next_back()?;
    Some(PgTimestamp::from_time(last.opened.commit.recorded_at))
}

async fn write(connection: &mut PgConnection, batches: &[Batch]) -> Result<Applied, ReadModelError> {
    let mut commits = Commits::new();
    for commit in batches.iter().flat_map(|batch| &batch.items).filter_map(commit_of) {
        commits.entry(key_of(commit)).or_default().push(commit);
    }
    let erased = erased_among(connection, &commits).await?;
    if !erased.is_empty() {
        let keys = bind_keys(erased.iter().map(key_parts));
        let sql = include_str!("../conversations/erase_documents.sql");
        execute(connection, sql, keys).await?;
    }
    commits.retain(|key, _| !erased.contains(key));
    let documents = documents(connection, &commits).await?;
    documents.write(connection).await?;
    Ok(Applied { events: documents.rows().count(), conversations: commits.len(), ..Applied::default() })
}

/// The conversations that the commits erase, or whose rows are erased already.
async fn erased_among(
    connection: &mut PgConnection,
    commits: &Commits<'_>,
) -> Result<HashSet<ConversationKey>, ReadModelError> {
    let is_tombstone = |commits: &[&StoredCommit]| {
        let last = commits.last();
        last.is_some_and(|commit| commit.opened.commit.head.status == Status::Erased)
    };
    let tombstones = commits.iter().filter(|(_, commits)| is_tombstone(commits));
    let mut erased: HashSet<ConversationKey> = tombstones.map(|(key, _)| key.clone()).collect();
    let keys = bind_keys(commits.keys().map(key_parts));
    let query = sqlx::query_with(include_str!("erased_among.sql"), keys);
    for row in query.fetch_all(connection).await? {
        // The statement returns keys of its arguments, so the index is within the bounds.
        let index = usize::try_from(row.try_get::<i64, _>(0)?).unwrap_or(usize::MAX);
        erased.extend(commits.keys().nth(index).cloned());
    }
    Ok(erased)
}

async fn documents(connection: &mut PgConnection, commits: &Commits<'_>) -> Result<Documents, ReadModelError> {
    let agents = commits.iter().filter_map(|(key, commits)| {
        let head = &commits.first()?.opened.commit.head;
        Some((key.tenant.clone(), head.agent.clone()))
    });
    let settings = settings_of(connection, agents.collect()).await?;
    let tenants = commits.keys().map(|key| key.tenant.clone()).collect();
    let keys = term_keys(connection, tenants).await?;
    let mut documents = Documents::default();
    for (key, commits) in commits {
        let Some(term_key) = keys.get(&key.tenant) else {
            continue;
        };
        for stored in commits {
            let commit = &stored.opened.commit;
            let agent = (key.tenant.clone(), commit.head.agent.clone());
            let settings = settings.get(&agent);
            let Some(settings) = settings.filter(|settings| settings.is_enabled) else {
                continue;
            };
            let source = Source { term_key, settings, key, partition: Some(stored.position.partition) };
            let events = commit.recorded_events();
            events.for_each(|event| documents.add(source, &event));
        }
    }
    Ok(documents)
}

fn commit_of(item: &Item) -> Option<&StoredCommit> {
    match item {
        Item::Commit(commit) => Some(commit),
        Item::Unreadable { .. } => None,
    }
}

fn key_of(commit: &StoredCommit) -> ConversationKey {
    let commit = &commit.opened.commit;
    ConversationKey { tenant: commit.tenant.clone(), conversation: commit.conversation.clone() }
}
