//! Pages of results, newest first.

use domain::{ConversationId, Timestamp, Version};
use read_model::ReadModel;
use read_model::queries::search::{
    DocumentCursor, DocumentQuery, FoundDocuments, SEARCH_TIMEOUT_MS, SearchError, documents, rewinds,
};
use search::{Matcher, Query, QueryTerms};
use tokio::time::timeout;
use wire::status::{Problem, Reason};

use super::results::{MatchCount, SearchPage, SearchResult, result};
use super::scope::Scope;
use super::{SearchAudience, SearchOrder, SearchRequest};
use crate::Gateway;
use crate::page_token::{self, QueryHash, take_number};
use crate::problem;
use crate::request::BoundedNumber;

/// The number of results of a page.
pub const SEARCH_PAGE: BoundedNumber = BoundedNumber { field: "page_size", default: 20, max: 100 };
/// Maximum number of documents whose texts are compared with the query for one page. A page that reaches it may have fewer results.
pub const EXAMINED_DOCUMENTS_MAX: usize = 2_000;
/// The number of documents of a read, after a first one of a page's size.
const READ_DOCUMENTS: u32 = 200;

/// A search under way.
#[derive(Debug)]
pub(super) struct Search<'s> {
    pub(super) gateway: &'s Gateway,
    pub(super) rows: &'s ReadModel,
    pub(super) request: &'s SearchRequest<'s>,
    pub(super) query: &'s Query,
    pub(super) scope: &'s Scope,
    pub(super) terms: QueryTerms,
}

/// Documents that were compared with the query.
#[derive(Debug)]
pub(super) struct Examined {
    /// The results among them, each with its place.
    pub(super) results: Vec<(DocumentCursor, SearchResult)>,
    /// The place of the last document.
    pub(super) last: Option<DocumentCursor>,
    /// The number of documents.
    pub(super) count: usize,
    /// The number of documents that have the terms.
    pub(super) matches: MatchCount,
}

/// The place after which a page starts.
///
/// # Errors
/// The page token is invalid or of another query.
pub(super) fn start(request: &SearchRequest<'_>) -> Result<Option<DocumentCursor>, Problem> {
    page_token::cursor(request.page_token, hash(request), read_cursor)
}

/// A page, newest first.
///
/// # Errors
/// As [`super::search()`].
pub(super) async fn newest(search: &Search<'_>, mut after: Option<DocumentCursor>) -> Result<SearchPage, Problem> {
    let hash = hash(search.request);
    let is_first_page = after.is_none();
    let size = usize::try_from(search.request.page_size).unwrap_or(usize::MAX);
    let mut page = SearchPage::default();
    let (mut limit, mut examined_count) = (search.request.page_size.saturating_add(1), 0);
    loop {
        let examined = search.examine(after.clone(), limit).await?;
        if is_first_page && page.match_count.is_none() {
            page.match_count = Some(examined.matches);
        }
        for (cursor, result) in examined.results {
            if page.results.len() >= size {
                page.next = after.as_ref().map(|after| token(hash, after));
                return Ok(page);
            }
            page.results.push(result);
            after = Some(cursor);
        }
        let is_end = examined.count < usize::try_from(limit).unwrap_or(usize::MAX);
        let Some(last) = examined.last.filter(|_| !is_end) else {
            return Ok(page);
        };
        examined_count += examined.count;
        if page.results.len() < size {
            after = Some(last);
        }
        if examined_count >= EXAMINED_DOCUMENTS_MAX {
            page.next = after.as_ref().map(|after| token(hash, after));
            return Ok(page);
        }
        limit = READ_DOCUMENTS;
    }
}

impl Search<'_> {
    /// Reads documents after a place, and compares them with the query.
    ///
    /// # Errors
    /// `SEARCH_TIMED_OUT`, or the read model does not answer.
    pub(super) async fn examine(&self, after: Option<DocumentCursor>, limit: u32) -> Result<Examined, Problem> {
        let filters = &self.query.filters;
        let query = DocumentQuery {
            terms: self.terms.clone(),
            scope: self.scope.documents.clone(),
            recorded_after: filters.after,
            recorded_before: filters.before,
            after,
            limit,
        };
        let (model, access) = (self.rows, &self.request.access);
        let found = timeout(self.request.deadline.left(), documents(model, access, &query))
            .await
            .map_err(|_| timed_out())?
            .map_err(of_search)?;
        let conversations = conversations(&found);
        let rewinds = self.request.deadline.rows(rewinds(model, access, &conversations)).await?;
        let match_count = match_count(&found);
        let mut examined = Examined {
            results: Vec::new(),
            last: found.documents.last().map(|last| last.cursor.clone()),
            count: found.documents.len(),
            matches: match_count,
        };
        let matcher = Matcher::new(self.query, &self.scope.languages);
        let compare = || {
            let wanted = found.documents.into_iter().filter_map(|document| {
                let cursor = document.cursor.clone();
                let result = result(document, &matcher, &rewinds).filter(|result| self.is_wanted(result))?;
                Some((cursor, result))
            });
            wanted.collect()
        };
        // Their texts can have megabytes.
        let tenant = access.tenant().as_str();
        examined.results = self.gateway.compute.run(tenant, compare).await.map_err(problem::compute_busy)?;
        Ok(examined)
    }

    fn is_wanted(&self, result: &SearchResult) -> bool {
        result.is_rewound == self.query.filters.is_rewound()
    }
}

/// The hash of everything that the results depend on.
pub(super) fn hash(request: &SearchRequest<'_>) -> QueryHash {
    let owner = format!("{:?}", request.owner);
    let agents = format!("{:?}", request.agents);
    let audience = match request.audience {
        SearchAudience::Staff => b"staff".as_slice(),
        SearchAudience::Visitor => b"visitor",
    };
    let order = match request.order {
        SearchOrder::Newest => b"newest".as_slice(),
        SearchOrder::Relevance => b"relevance",
    };
    QueryHash::of(&[
        b"search",
        request.access.tenant().as_str().as_bytes(),
        agents.as_bytes(),
        owner.as_bytes(),
        audience,
        order,
        request.query.as_bytes(),
    ])
}

fn conversations(found: &FoundDocuments) -> Vec<&ConversationId> {
    let documents = found.documents.iter();
    let mut ids: Vec<&ConversationId> = documents.map(|one| &one.cursor.conversation).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn match_count(found: &FoundDocuments) -> MatchCount {
    MatchCount { count: found.candidates.count, is_capped: found.candidates.is_capped }
}

fn token(hash: QueryHash, cursor: &DocumentCursor) -> String {
    let mut bytes = cursor.recorded_at.0.to_be_bytes().to_vec();
    bytes.extend_from_slice(&cursor.version.0.to_be_bytes());
    bytes.extend_from_slice(cursor.conversation.as_str().as_bytes());
    page_token::encode(hash, &bytes)
}

fn read_cursor(bytes: &[u8]) -> Option<DocumentCursor> {
    let (time, rest) = take_number(bytes)?;
    let (version, id) = take_number(rest)?;
    let id = std::str::from_utf8(id).ok()?;
    Some(DocumentCursor {
        recorded_at: Timestamp(time.cast_signed()),
        version: Version(version),
        conversation: ConversationId::parse(id).ok()?,
    })
}

fn of_search(error: SearchError) -> Problem {
    match error {
        SearchError::TooSlow => timed_out(),
        SearchError::ReadModel(error) => problem::of_read_model(&error),
    }
}

fn timed_out() -> Problem {
    let message = format!(
        "the search took longer than {SEARCH_TIMEOUT_MS} ms: narrow it by a rarer word, agent:, user:, after: or before:"
    );
    Problem::new(Reason::SearchTimedOut, message)
}
