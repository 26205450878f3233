//! What is searched for: the query of a page, and the arguments of its statements.

use domain::{AgentId, ChannelId, ConversationId, Owner, SessionId, TenantAccess, Timestamp, UserId, Version};
use search::QueryTerms;
use sqlx::postgres::{PgArguments, PgRow};

use crate::arguments::{arguments, bind, signed};
use crate::pg_timestamp::PgTimestamp;
use crate::queries::list_conversations::statuses;

/// Maximum number of documents that are counted.
pub const CANDIDATES_MAX: u32 = 5_000;

/// The rows of a page.
pub(super) struct Page {
    /// Newest first.
    pub(super) rows: Vec<PgRow>,
    pub(super) candidates: CandidateCount,
}

/// The columns that sort documents, the first one first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DocumentOrder {
    pub(super) recorded_at: PgTimestamp,
    pub(super) conversation: String,
    pub(super) version: i64,
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
        Self { count: u32::try_from(capped).unwrap_or(CANDIDATES_MAX), is_capped: is_capped || count > capped }
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
    pub(super) fn bound(&self) -> DocumentOrder {
        let before = self.recorded_before.map(PgTimestamp::from_time);
        let of_time = DocumentOrder {
            recorded_at: before.unwrap_or(PgTimestamp::INFINITY),
            conversation: String::new(),
            version: 0,
        };
        let of_cursor = self.after.as_ref().map(|after| DocumentOrder {
            recorded_at: PgTimestamp::from_time(after.recorded_at),
            conversation: after.conversation.to_string(),
            version: signed(after.version.0),
        });
        of_cursor.into_iter().fold(of_time, DocumentOrder::min)
    }
}

/// The arguments of a statement of documents, without those of its blocks.
pub(super) fn query_arguments(access: &TenantAccess, query: &DocumentQuery, limit: u32) -> PgArguments {
    let terms = &query.terms;
    let bound = query.bound();
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
        bound.recorded_at,
        bound.conversation,
        bound.version,
        i64::from(limit),
        agents,
        statuses(None),
        owner,
    ];
    let groups = terms.any.iter();
    groups.fold(arguments, |arguments, group| bind(arguments, group.as_slice()))
}
