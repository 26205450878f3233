//! Finds documents.

use std::time::Duration;

use domain::{AgentId, ConversationId, Event, Owner, Status, TenantAccess, UserId, Version};
use search::TermKey;
use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgRow};
use thiserror::Error;
use tokio::time::{Instant, timeout_at};

use super::query::{CandidateCount, DocumentCursor, DocumentQuery, Page, query_arguments};
use super::statements::{OwnerColumn, Shape, Way, documents_statement};
use super::walk::walk;
use crate::arguments::arguments;
use crate::error::ReadModelError;
use crate::model::{ReadModel, ReadTransactionError};
use crate::pg_timestamp::PgTimestamp;
use crate::row::Columns;
use crate::status_code::status_of;
use crate::term_key::key_of;

/// Maximum number of conversations of one owner that are searched, those with the latest events.
pub const OWNED_CONVERSATIONS_MAX: u32 = 1_000;
/// Timeout of a page, in milliseconds.
pub const SEARCH_TIMEOUT_MS: u64 = 2_000;

/// One snapshot of blocks and documents, and the timeout of each statement.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = 2000";

/// Why a search failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SearchError {
    /// It took longer than [`SEARCH_TIMEOUT_MS`]: narrow the query.
    #[error("the search took longer than {SEARCH_TIMEOUT_MS} ms")]
    TooSlow,
    /// The read model does not answer.
    #[error(transparent)]
    ReadModel(#[from] ReadModelError),
}

/// A document that has the terms, with the rows that it was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundDocument {
    /// Its place in the order.
    pub cursor: DocumentCursor,
    /// The agent of the conversation.
    pub agent: AgentId,
    /// The status of the conversation.
    pub status: Status,
    /// The user who owns the conversation.
    pub user: Option<UserId>,
    /// The title of the conversation.
    pub title: Option<String>,
    /// The event; `None`: the document is the title.
    pub event: Option<Event>,
}

/// A page of documents.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FoundDocuments {
    /// The documents, newest first.
    pub documents: Vec<FoundDocument>,
    /// The number of documents that have the terms, of all pages from this one on.
    pub candidates: CandidateCount,
}

/// The key of the tenant's terms; `None`: nothing is indexed yet.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn term_key(model: &ReadModel, access: &TenantAccess) -> Result<Option<TermKey>, ReadModelError> {
    let arguments = || arguments![access.tenant().as_str()];
    let rows = model.read(access, include_str!("term_key.sql"), arguments);
    rows.await?.first().map(|row| key_of(row, 0)).transpose()
}

/// A page of documents of the tenant that have the terms, newest first.
///
/// # Errors
/// [`SearchError`].
pub async fn documents(
    model: &ReadModel,
    access: &TenantAccess,
    query: &DocumentQuery,
) -> Result<FoundDocuments, SearchError> {
    let page = read(model, access, query).await?;
    let documents = page.rows.iter().map(|row| document(access, row));
    Ok(FoundDocuments { documents: documents.collect::<Result<_, _>>()?, candidates: page.candidates })
}

/// Reads a page, and once more with another connection if the first one was lost. If a replica fails, the primary answers.
async fn read(model: &ReadModel, access: &TenantAccess, query: &DocumentQuery) -> Result<Page, SearchError> {
    let end = Instant::now() + Duration::from_millis(SEARCH_TIMEOUT_MS);
    // Boxed, to keep the futures of all callers small.
    let attempt = || Box::pin(timeout_at(end, read_once(model, access, query)));
    let on_replica = model.transact_on_replica(read_once(model, access, query));
    match timeout_at(end, Box::pin(on_replica)).await {
        Ok(Some(page)) => return Ok(page),
        Ok(None) => {}
        Err(_) => return Err(SearchError::TooSlow),
    }
    let mut answer = attempt().await;
    if let Ok(Err(error)) = &answer
        && error.is_retryable()
    {
        model.close_idle();
        answer = attempt().await;
    }
    match answer {
        Ok(Ok(page)) => Ok(page),
        Ok(Err(error)) if !error.is_timeout() => Err(error.into_error().into()),
        Ok(Err(_)) | Err(_) => Err(SearchError::TooSlow),
    }
}

async fn read_once(
    model: &ReadModel,
    access: &TenantAccess,
    query: &DocumentQuery,
) -> Result<Page, ReadTransactionError> {
    let mut transaction = model.begin_read(access, BEGIN).await?;
    let connection = transaction.connection();
    let owner = owner_column(query);
    let page = match owner {
        None => walk(connection, access, query, None).await?,
        Some(column) => {
            let mut page = of_owner(connection, access, query, column).await?;
            if page.candidates.is_capped {
                // Only some of the candidates were sorted.
                page.rows = walk(connection, access, query, owner).await?.rows;
            }
            page
        }
    };
    transaction.commit().await?;
    Ok(page)
}

/// The rows of a page of the documents of one owner, and the number of candidates.
async fn of_owner(
    connection: &mut PgConnection,
    access: &TenantAccess,
    query: &DocumentQuery,
    owner: OwnerColumn,
) -> Result<Page, sqlx::Error> {
    let shape = Shape::of(&query.terms);
    let sql = documents_statement(Way::Owner(owner), shape).unwrap_or_default();
    let arguments = query_arguments(access, query, query.limit);
    let mut rows = sqlx::query_with(sql, arguments).fetch_all(connection).await?;
    let count: i64 = rows.first().map_or(Ok(0), |row| row.try_get("candidates"))?;
    if let Some(row) = rows.first()
        && row.try_get::<Option<&str>, _>("conversation_id")?.is_none()
    {
        // It has only the number of candidates.
        rows.clear();
    }
    Ok(Page { rows, candidates: CandidateCount::of(count.unsigned_abs(), false) })
}

/// The column of the query's owner.
fn owner_column(query: &DocumentQuery) -> Option<OwnerColumn> {
    query.scope.owner.as_ref().map(|owner| match owner {
        Owner::Session(_) => OwnerColumn(0),
        Owner::User(_) => OwnerColumn(1),
        Owner::Channel(_) => OwnerColumn(2),
    })
}

/// The document of a row.
fn document(access: &TenantAccess, row: &PgRow) -> Result<FoundDocument, ReadModelError> {
    let id: &str = row.try_get("conversation_id")?;
    let columns = Columns::new(row, access.tenant(), id);
    let recorded_at: PgTimestamp = columns.get(1, "recorded_at")?;
    let version = columns.unsigned(3, "version")?;
    let agent: &str = columns.get(4, "agent_id")?;
    let user: Option<&str> = columns.get(6, "user_id")?;
    let body: Option<&[u8]> = columns.get(8, "body")?;
    let event = body.filter(|_| version > 0).map(|body| {
        wire::commit::decode_event(bytes::Bytes::copy_from_slice(body)).map_err(|_| columns.corrupt("body"))
    });
    Ok(FoundDocument {
        cursor: DocumentCursor {
            recorded_at: recorded_at.with_nanos(0),
            conversation: ConversationId::parse(id).map_err(|_| columns.corrupt("conversation_id"))?,
            version: Version(version),
        },
        agent: AgentId::parse(agent).map_err(|_| columns.corrupt("agent_id"))?,
        status: status_of(columns.get(5, "status")?).ok_or_else(|| columns.corrupt("status"))?,
        user: user.map(UserId::parse).transpose().map_err(|_| columns.corrupt("user_id"))?,
        title: columns.get(7, "title")?,
        event: event.transpose()?,
    })
}
