//! Indexes the documents of agents again from the rows of their events, in bounded steps. A projector that stops in between continues
//! at the last step; several projectors share the agents. Agents take turns, so that one that fails delays no others.

use domain::{ConversationId, ConversationKey, TenantId};
use search::TermKey;
use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::{Executor as _, Row as _};

use super::agents::Settings;
use super::keys::term_keys;
use super::rows::{Documents, Source};
use super::{blocks, stored};
use crate::arguments::{arguments, execute};
use crate::error::ReadModelError;
use crate::model::{Durability, ReadModel};
use crate::projections::search_lock::LOCK_SHARED;
use crate::row::Columns;

/// Maximum number of events that one step indexes, or of documents that it deletes.
pub const REINDEXED_EVENTS_PER_STEP_MAX: u32 = 500;
/// Maximum number of conversations of the tenant that one step scans, those of other agents included: no index finds an agent's
/// conversations in the order of their ids.
const CONVERSATIONS_PER_STEP_MAX: u32 = 500;

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReindexStep {
    /// No agent waits, or other projectors index those that do.
    Idle,
    /// An agent has more documents.
    Advanced,
    /// The last step of an agent.
    Finished,
}

/// The tenant and the agent of the last step: the next one takes the agent after it.
#[derive(Debug, Clone, Default)]
pub struct ReindexTurn(String, String);

/// An agent whose documents are indexed again, and the last event of its previous step.
struct Job {
    tenant: TenantId,
    settings: Settings,
    conversation: String,
    version: i64,
}

/// Indexes the next documents of one agent again. An agent that is not searched loses them.
///
/// # Errors
/// [`ReadModelError`]: no part of the step was done. The next step takes another agent, if there is one.
pub async fn reindex_step(model: &ReadModel, turn: &mut ReindexTurn) -> Result<ReindexStep, ReadModelError> {
    let work = async |connection: &mut PgConnection| {
        let Some(job) = take_job(connection, turn).await? else {
            return Ok(ReindexStep::Idle);
        };
        connection.execute(LOCK_SHARED).await?;
        let end =
            if job.settings.is_enabled { index(connection, &job).await? } else { delete(connection, &job).await? };
        advance(connection, &job, end).await
    };
    model.transaction(Durability::Durable, work).await
}

/// Takes the next agent, and advances the turn.
async fn take_job(connection: &mut PgConnection, turn: &mut ReindexTurn) -> Result<Option<Job>, ReadModelError> {
    let mut taken = take_after(connection, turn).await?;
    if taken.is_none() {
        *turn = ReindexTurn::default();
        taken = take_after(connection, turn).await?;
    }
    let Some(row) = taken else {
        return Ok(None);
    };
    let (tenant, agent): (&str, &str) = (row.try_get("tenant_id")?, row.try_get("agent_id")?);
    *turn = ReindexTurn(tenant.to_owned(), agent.to_owned());
    let corrupt = |_| ReadModelError::corrupt("agent", tenant, "tenant_id");
    Ok(Some(Job {
        tenant: TenantId::parse(tenant).map_err(corrupt)?,
        settings: Settings::read(&row)?,
        conversation: row.try_get("indexed_conversation")?,
        version: row.try_get("indexed_version")?,
    }))
}

async fn take_after(
    connection: &mut PgConnection,
    ReindexTurn(tenant, agent): &ReindexTurn,
) -> Result<Option<PgRow>, sqlx::Error> {
    let arguments = arguments![tenant.as_str(), agent.as_str()];
    let query = sqlx::query_with(include_str!("take_agent.sql"), arguments);
    query.fetch_optional(connection).await
}

/// Indexes a page of events. Returns its end; `None`: it is the last page.
async fn index(connection: &mut PgConnection, job: &Job) -> Result<Option<(String, i64)>, ReadModelError> {
    let query = sqlx::query_with(include_str!("recorded_events.sql"), arguments(job));
    let rows = query.fetch_all(&mut *connection).await?;
    let mut keys = term_keys(connection, [job.tenant.clone()].into()).await?;
    let Some(term_key) = keys.remove(&job.tenant) else {
        return Ok(None);
    };
    let mut documents = Documents::default();
    for row in &rows {
        add_event(&mut documents, job, &term_key, row)?;
    }
    documents.write(connection).await?;
    restore(connection, &documents).await?;
    end_of(&rows)
}

/// Writes the documents again that searches do not find, for example because their block is missing.
async fn restore(connection: &mut PgConnection, documents: &Documents) -> Result<(), sqlx::Error> {
    let damaged = stored::damaged(connection, documents.rows().collect()).await?;
    stored::delete(connection, &damaged).await?;
    blocks::write(connection, damaged).await
}

/// Deletes a page of documents. Returns its end; `None`: it is the last page.
async fn delete(connection: &mut PgConnection, job: &Job) -> Result<Option<(String, i64)>, ReadModelError> {
    let query = sqlx::query_with(include_str!("delete_documents.sql"), arguments(job));
    end_of(&query.fetch_all(connection).await?)
}

fn arguments(job: &Job) -> PgArguments {
    arguments![
        job.tenant.as_str(),
        job.settings.agent(),
        job.conversation.as_str(),
        job.version,
        i64::from(CONVERSATIONS_PER_STEP_MAX),
        i64::from(REINDEXED_EVENTS_PER_STEP_MAX),
    ]
}

/// Adds the document of a row. A row without a version is the end of a conversation.
fn add_event(documents: &mut Documents, job: &Job, term_key: &TermKey, row: &PgRow) -> Result<(), ReadModelError> {
    let id: &str = row.try_get("conversation_id")?;
    let columns = Columns::new(row, &job.tenant, id);
    let Some(event) = columns.recorded_event()? else {
        return Ok(());
    };
    let key = ConversationKey {
        tenant: job.tenant.clone(),
        conversation: ConversationId::parse(id).map_err(|_| columns.corrupt("conversation_id"))?,
    };
    let source = Source { term_key, settings: &job.settings, key: &key, partition: None };
    documents.add(source, &event);
    Ok(())
}

/// The last row's conversation and version.
fn end_of(rows: &[PgRow]) -> Result<Option<(String, i64)>, ReadModelError> {
    let end = rows.last().map(|row| {
        // Without a version, all of the conversation is done.
        let version: Option<i64> = row.try_get("version")?;
        let end: (String, i64) = (row.try_get("conversation_id")?, version.unwrap_or(i64::MAX));
        Ok::<_, ReadModelError>(end)
    });
    end.transpose()
}

async fn advance(
    connection: &mut PgConnection,
    job: &Job,
    end: Option<(String, i64)>,
) -> Result<ReindexStep, ReadModelError> {
    let (tenant, agent) = (job.tenant.as_str(), job.settings.agent());
    if let Some((conversation, version)) = end {
        let arguments = arguments![tenant, agent, conversation, version];
        execute(connection, include_str!("advance_agent.sql"), arguments).await?;
        Ok(ReindexStep::Advanced)
    } else {
        let arguments = arguments![tenant, agent];
        execute(connection, include_str!("finish_agent.sql"), arguments).await?;
        Ok(ReindexStep::Finished)
    }
}
