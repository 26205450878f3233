//! Finds documents.

use std::time::Duration;

use domain::{
    AgentId, ChannelId, ConversationId, Event, Owner, SessionId, Status, TenantAccess, Timestamp,
    UserId, Version,
};
use search::{QueryTerms, TermKey};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use thiserror::Error;
use tokio::time::{Instant, timeout_at};

use super::statements::{OwnerColumn, Shape, Way, documents_statement};
use super::walk::walk;
use crate::arguments::{arguments, bind, signed};
use crate::error::ReadModelError;
use crate::model::{ReadModel, ReadTransactionError};
use crate::pg_timestamp::PgTimestamp;
use crate::queries::list_conversations::statuses;
use crate::row::Columns;
use crate::status_code::status_of;
use crate::term_key::key_of;

/// Maximum number of documents that are counted.
pub const CANDIDATES_MAX: u32 = 5_000;
/// Maximum number of conversations of one owner that are searched, those with the latest events.
pub const OWNED_CONVERSATIONS_MAX: u32 = 1_000;
/// Timeout of a page, in milliseconds.
pub const SEARCH_TIMEOUT_MS: u64 = 2_000;

/// The rows of a page, newest first, and the number of candidates.
pub(super) type Page = (Vec<PgRow>, CandidateCount);

/// One snapshot of blocks and documents, and the timeout of each statement.
const BEGIN: &str =
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = 2000";

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

/// Which documents to find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentQuery {
    /// The terms.
    pub terms: QueryTerms,
    /// Whose documents.
    pub scope: DocumentScope,
    /// Only those recorded at this time or later.
    pub recorded_after: Option<Timestamp>,
    /// Only those recorded before this time.
    pub recorded_before: Option<Timestamp>,
    /// The last document of the previous page; `None`: the first page.
    pub after: Option<DocumentCursor>,
    /// Maximum number of documents.
    pub limit: u32,
}

/// Whose documents to find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentScope {
    /// The agents.
    pub agents: Vec<AgentId>,
    /// The owner; `None`: all owners.
    pub owner: Option<Owner>,
}

/// The end of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentCursor {
    /// When the document was recorded. Rows contain whole microseconds.
    pub recorded_at: Timestamp,
    /// Its conversation.
    pub conversation: ConversationId,
    /// Its version.
    pub version: Version,
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

/// A number of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CandidateCount {
    /// The number, at most [`CANDIDATES_MAX`].
    pub count: u32,
    /// Whether there may be more.
    pub is_capped: bool,
}

impl CandidateCount {
    pub(super) fn of(count: u64, is_capped: bool) -> Self {
        let capped = count.min(u64::from(CANDIDATES_MAX));
        Self {
            count: u32::try_from(capped).unwrap_or(CANDIDATES_MAX),
            is_capped: is_capped || count > capped,
        }
    }
}

impl DocumentQuery {
    /// The first time of its documents.
    pub(super) fn first_time(&self) -> PgTimestamp {
        let after = self.recorded_after.map(PgTimestamp::from_time);
        after.unwrap_or(PgTimestamp::NEGATIVE_INFINITY)
    }

    /// The exclusive upper bound of the page: the cursor or `recorded_before`. Ids are never empty, so the bound of a time excludes
    /// all documents of that time.
    pub(super) fn bound(&self) -> (PgTimestamp, &str, i64) {
        let before = self.recorded_before.map(PgTimestamp::from_time);
        let bound = (before.unwrap_or(PgTimestamp::INFINITY), "", 0);
        self.after.as_ref().map_or(bound, |after| {
            let time = PgTimestamp::from_time(after.recorded_at);
            bound.min((time, after.conversation.as_str(), signed(after.version.0)))
        })
    }

    fn owner_column(&self) -> Option<OwnerColumn> {
        self.scope.owner.as_ref().map(|owner| match owner {
            Owner::Session(_) => OwnerColumn(0),
            Owner::User(_) => OwnerColumn(1),
            Owner::Channel(_) => OwnerColumn(2),
        })
    }
}

/// The key of the tenant's terms; `None`: nothing is indexed yet.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn term_key(
    model: &ReadModel,
    access: &TenantAccess,
) -> Result<Option<TermKey>, ReadModelError> {
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
    let (rows, candidates) = read(model, access, query).await?;
    let documents = rows.iter().map(|row| document(access, row));
    Ok(FoundDocuments {
        documents: documents.collect::<Result<_, _>>()?,
        candidates,
    })
}

/// Reads a page, and once more with another connection if the first one was lost.
async fn read(
    model: &ReadModel,
    access: &TenantAccess,
    query: &DocumentQuery,
) -> Result<Page, SearchError> {
    let end = Instant::now() + Duration::from_millis(SEARCH_TIMEOUT_MS);
    // Boxed, to keep the futures of all callers small.
    let attempt = || Box::pin(timeout_at(end, read_once(model, access, query)));
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
    let owner = query.owner_column();
    let page = match owner {
        None => walk(connection, access, query, None).await?,
        Some(column) => {
            let (rows, candidates) = of_owner(connection, access, query, column).await?;
            if candidates.is_capped {
                // Only some of the candidates were sorted.
                let (rows, _) = walk(connection, access, query, owner).await?;
                (rows, candidates)
            } else {
                (rows, candidates)
            }
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
    let mut rows = sqlx::query_with(sql, arguments)
        .fetch_all(connection)
        .await?;
    let count: i64 = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
    if let Some(row) = rows.first()
        && row.try_get::<Option<&str>, _>(2)?.is_none()
    {
        // It has only the number of candidates.
        rows.clear();
    }
    Ok((rows, CandidateCount::of(count.unsigned_abs(), false)))
}

/// The arguments of a statement of documents, without those of its blocks.
pub(super) fn query_arguments(
    access: &TenantAccess,
    query: &DocumentQuery,
    limit: u32,
) -> PgArguments {
    let terms = &query.terms;
    let (before, conversation, version) = query.bound();
    let agents: Vec<&str> = query.scope.agents.iter().map(AgentId::as_str).collect();
    let owner = query.scope.owner.as_ref().map(|owner| match owner {
        Owner::Session(session) => SessionId::as_str(session),
        Owner::User(user) => UserId::as_str(user),
        Owner::Channel(channel) => ChannelId::as_str(channel),
    });
    let arguments = arguments![
        access.tenant().as_str(),
        terms.all.as_slice(),
        terms.none.as_slice(),
        query.first_time(),
        before,
        conversation,
        version,
        i64::from(limit),
        agents,
        statuses(None),
        owner,
    ];
    let groups = terms.any.iter();
    groups.fold(arguments, |arguments, group| {
        bind(arguments, group.as_slice())
    })
}

/// The document of a row.
fn document(access: &TenantAccess, row: &PgRow) -> Result<FoundDocument, ReadModelError> {
    let id: &str = row.try_get(2)?;
    let columns = Columns::new(row, access.tenant(), id);
    let recorded_at: PgTimestamp = columns.get(1, "recorded_at")?;
    let version = columns.unsigned(3, "version")?;
    let agent: &str = columns.get(4, "agent_id")?;
    let user: Option<&str> = columns.get(6, "user_id")?;
    let body: Option<&[u8]> = columns.get(8, "body")?;
    let event = body.filter(|_| version > 0).map(|body| {
        wire::commit::decode_event(bytes::Bytes::copy_from_slice(body))
            .map_err(|_| columns.corrupt("body"))
    });
    Ok(FoundDocument {
        cursor: DocumentCursor {
            recorded_at: recorded_at.with_nanos(0),
            conversation: ConversationId::parse(id)
                .map_err(|_| columns.corrupt("conversation_id"))?,
            version: Version(version),
        },
        agent: AgentId::parse(agent).map_err(|_| columns.corrupt("agent_id"))?,
        status: status_of(columns.get(5, "status")?).ok_or_else(|| columns.corrupt("status"))?,
        user: user
            .map(UserId::parse)
            .transpose()
            .map_err(|_| columns.corrupt("user_id"))?,
        title: columns.get(7, "title")?,
        event: event.transpose()?,
    })
}
