//! Finds documents.

use domain::{
    AgentId, ChannelId, ConversationId, Event, Owner, SessionId, Status, TenantAccess, Timestamp,
    UserId, Version,
};
use search::{QueryTerms, TermKey};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};
use thiserror::Error;

use super::statements::{Way, statement};
use crate::arguments::{arguments, bind, signed};
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::pg_timestamp::PgTimestamp;
use crate::queries::list_conversations::statuses;
use crate::row::Columns;
use crate::status_code::status_of;
use crate::term_key::key_of;

/// Maximum number of documents that are found by their terms and sorted. More have a common word: they are found by their time.
pub const CANDIDATES_MAX: u32 = 5_000;
/// Maximum number of conversations of one owner that are searched, those with the latest events.
pub const OWNED_CONVERSATIONS_MAX: u32 = 1_000;
/// Timeout of a statement of the search, in milliseconds.
pub const SEARCH_TIMEOUT_MS: u64 = 2_000;

/// Sets the timeout.
const BEGIN: &str = "BEGIN READ ONLY; SET LOCAL statement_timeout = 2000";
/// Also lets the planner use the index of terms, which is read by bitmaps only.
const BEGIN_BY_TERMS: &str =
    "BEGIN READ ONLY; SET LOCAL statement_timeout = 2000; SET LOCAL enable_bitmapscan = on";

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
    /// The number of documents that have the terms; `None`: more than [`CANDIDATES_MAX`].
    pub candidates: Option<u32>,
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
    let terms = &query.terms;
    let has_terms = !terms.all.is_empty() || !terms.any.is_empty();
    let way = match &query.scope.owner {
        Some(Owner::Session(_)) => Way::Owner(0),
        Some(Owner::User(_)) => Way::Owner(1),
        Some(Owner::Channel(_)) => Way::Owner(2),
        None if has_terms => Way::Terms,
        None => Way::Time,
    };
    let found = run(model, access, query, way).await?;
    if way == Way::Terms && found.candidates.is_none() {
        // Sorting has chosen among some of the candidates.
        return run(model, access, query, Way::Time).await;
    }
    Ok(found)
}

async fn run(
    model: &ReadModel,
    access: &TenantAccess,
    query: &DocumentQuery,
    way: Way,
) -> Result<FoundDocuments, SearchError> {
    let terms = &query.terms;
    let Some(sql) = statement(way, !terms.all.is_empty(), terms.any.len()) else {
        return Ok(FoundDocuments::default());
    };
    let begin = match way {
        Way::Terms => BEGIN_BY_TERMS,
        Way::Time | Way::Owner(_) => BEGIN,
    };
    let arguments = || query_arguments(access, query);
    let rows = model.read_with_settings(access, begin, sql, arguments);
    let rows = rows.await?.ok_or(SearchError::TooSlow)?;
    let mut found = FoundDocuments::default();
    for row in &rows {
        let candidates: Option<i64> = row.try_get(0).map_err(ReadModelError::from)?;
        found.candidates = candidates
            .and_then(|count| u32::try_from(count).ok())
            .filter(|count| *count <= CANDIDATES_MAX);
        found.documents.extend(document(access, row)?);
    }
    Ok(found)
}

fn query_arguments(access: &TenantAccess, query: &DocumentQuery) -> PgArguments {
    let terms = &query.terms;
    let (before, conversation, version) = bound(query);
    let after = query.recorded_after.map(PgTimestamp::from_time);
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
        after.unwrap_or(PgTimestamp::NEGATIVE_INFINITY),
        before,
        conversation,
        version,
        i64::from(query.limit),
        i64::from(CANDIDATES_MAX) + 1,
        agents,
        statuses(None),
        owner,
    ];
    let groups = terms.any.iter();
    groups.fold(arguments, |arguments, group| {
        bind(arguments, group.as_slice())
    })
}

/// The exclusive upper bound of the page: the cursor or `recorded_before`. Ids are never empty, so the bound of a time excludes all
/// documents of that time.
fn bound(query: &DocumentQuery) -> (PgTimestamp, &str, i64) {
    let before = query.recorded_before.map(PgTimestamp::from_time);
    let bound = (before.unwrap_or(PgTimestamp::INFINITY), "", 0);
    query.after.as_ref().map_or(bound, |after| {
        let time = PgTimestamp::from_time(after.recorded_at);
        bound.min((time, after.conversation.as_str(), signed(after.version.0)))
    })
}

/// The document of a row; `None`: the row has only the number of candidates.
fn document(access: &TenantAccess, row: &PgRow) -> Result<Option<FoundDocument>, ReadModelError> {
    let Some(id) = row.try_get::<Option<&str>, _>(2)? else {
        return Ok(None);
    };
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
    Ok(Some(FoundDocument {
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
    }))
}
