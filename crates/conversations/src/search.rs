//! The search: all ways in (gRPC, HTTP, MCP, pages) call [`search()`].
//!
//! The index finds documents by hashed terms; the rows of their events and conversations decide whether they are results: they are
//! read in the same statement, belong to the caller's tenant, agents and owner, and their text matches the query.

mod freshness;
mod page;
mod publish;
mod relevance;
mod results;
mod scope;

pub use page::{EXAMINED_DOCUMENTS_MAX, SEARCH_PAGE};
pub use publish::publish;
pub use relevance::RANKED_RESULTS_MAX;
pub use results::{SearchPage, SearchResult};
pub use scope::{SearchAgents, SearchAudience};

use domain::{Owner, Position, TenantAccess};
use history::{Deadline, FencedTables};
use read_model::queries::search::{DocumentCursor, term_key};
use search::{QUERY_BYTES_MAX, Query};
use wire::status::{Problem, Reason};

use crate::{Gateway, problem};
use relevance::RankedStart;
use scope::Scope;

/// A search.
#[derive(Debug, Clone)]
pub struct SearchRequest<'a> {
    /// The tenant.
    pub access: TenantAccess,
    /// The agents whose conversations the caller may read.
    pub agents: SearchAgents,
    /// The owner whose conversations the caller may read; `None`: all owners.
    pub owner: Option<Owner>,
    /// What the caller may see of conversations.
    pub audience: SearchAudience,
    /// The query.
    pub query: &'a str,
    /// The order of the results.
    pub order: SearchOrder,
    /// The token from the previous page; empty: the first page.
    pub page_token: &'a str,
    /// Maximum number of results.
    pub page_size: u32,
    /// The results include commits up to these positions.
    pub fences: Vec<Position>,
    /// The deadline.
    pub deadline: Deadline,
}

/// The order of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchOrder {
    /// Newest first.
    Newest,
    /// The best of the newest [`RANKED_RESULTS_MAX`] first.
    Relevance,
}

/// A page of the results of a search.
///
/// # Errors
/// `SEARCH_QUERY_INVALID`, `SEARCH_DISABLED`, `SEARCH_TIMED_OUT`, `POSITION_NOT_REACHED`; the page token is invalid or of another
/// query; the read model does not answer.
pub async fn search(gateway: &Gateway, request: SearchRequest<'_>) -> Result<SearchPage, Problem> {
    let query = Query::parse(request.query).map_err(|error| query_invalid(&error.to_string()))?;
    let start = match request.order {
        SearchOrder::Newest => Start::Newest(page::start(&request)?),
        SearchOrder::Relevance => Start::Ranked(relevance::start(&request)?),
    };
    let rows = gateway
        .reader
        .rows_at(request.access.tenant(), &request.fences, FencedTables::Search)
        .await
        .map_err(|error| problem::of_read_model(&error))?
        .ok_or_else(problem::position_not_reached)?;
    let scope = Scope::of(gateway, &request, &query)?;
    let progress = freshness::progress(gateway, &rows, &request).await?;
    let key = request.deadline.rows(term_key(&rows, &request.access)).await?;
    let page = match (key, scope) {
        (Some(key), Some(scope)) => {
            let terms = scope.terms(&key, &query);
            let search = page::Search { gateway, rows: &rows, request: &request, query: &query, scope: &scope, terms };
            match start {
                Start::Newest(after) => page::newest(&search, after).await?,
                Start::Ranked(start) => relevance::best(&search, start).await?,
            }
        }
        (None, _) | (_, None) => SearchPage::default(),
    };
    Ok(SearchPage { indexed_until: progress.indexed_until, is_reindexing: progress.is_reindexing, ..page })
}

/// Where a page starts; `None`: it is the first page.
enum Start {
    Newest(Option<DocumentCursor>),
    Ranked(Option<RankedStart>),
}

fn query_invalid(rule: &str) -> Problem {
    Problem::of_field(Reason::SearchQueryInvalid, "query", rule).with("bytes_max", QUERY_BYTES_MAX.to_string())
}
