//! The parameters of a search.

use domain::{Owner, TenantAccess};
use history::Deadline;
use runtime::http::{HttpProblem, Json};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use wire::status::Problem;

use super::search_results::{Details, SearchResultsBody};
use conversations::positions;
use conversations::request::BoundedNumber;
use conversations::search::{SEARCH_PAGE, SearchAgents, SearchAudience, SearchOrder, SearchRequest, search};
use http_listener::state::HttpState;

/// Page size.
const RESULTS_PAGE: BoundedNumber = BoundedNumber { field: "limit", ..SEARCH_PAGE };

/// What to search for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct SearchParams {
    /// The query: words, "phrases", -exclusions, and filters such as `role:user`; at most 512 bytes.
    #[param(example = "parcel -refund role:user", max_length = 512)]
    #[serde(default)]
    q: String,
    /// The order; absent: `newest`.
    #[param(inline)]
    order: Option<OrderName>,
    /// Page size; 0 or absent: 20.
    #[param(maximum = 100)]
    limit: Option<u32>,
    /// `nextCursor` of the previous page; absent: the first page.
    cursor: Option<String>,
}

/// The order of search results.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OrderName {
    /// Newest first.
    Newest,
    /// The best of the 500 newest first.
    Relevance,
}

/// Whose conversations a caller may search.
#[derive(Debug)]
pub(in crate::http) struct SearchCaller {
    pub(in crate::http) access: TenantAccess,
    pub(in crate::http) agents: SearchAgents,
    pub(in crate::http) owner: Option<Owner>,
    pub(in crate::http) audience: SearchAudience,
}

/// A page of results, after rows and index include the positions that the request has sent.
///
/// # Errors
/// As [`search()`].
pub(in crate::http) async fn page(
    state: &HttpState,
    caller: SearchCaller,
    params: &SearchParams,
) -> Result<Json<SearchResultsBody>, HttpProblem> {
    let size = RESULTS_PAGE.take(params.limit.unwrap_or_default());
    let details = match caller.audience {
        SearchAudience::Staff => Details::All,
        SearchAudience::Visitor => Details::OfOwner,
    };
    let request = SearchRequest {
        access: caller.access,
        agents: caller.agents,
        owner: caller.owner,
        audience: caller.audience,
        query: &params.q,
        order: match params.order {
            Some(OrderName::Relevance) => SearchOrder::Relevance,
            Some(OrderName::Newest) | None => SearchOrder::Newest,
        },
        page_token: params.cursor.as_deref().unwrap_or_default(),
        page_size: size?,
        fences: positions::fences(),
        deadline: Deadline::until(None),
    };
    let page = search(&state.gateway, request).await.map_err(named)?;
    Ok(Json(SearchResultsBody::new(page, details)))
}

/// Callers know the query as `q` and the page token as `cursor`.
fn named(problem: impl Into<Problem>) -> HttpProblem {
    let problem = problem.into().rename_field(|field| (field == "query").then(|| "q".into()));
    if problem.field().is_some_and(|field| field == "page_token") {
        let detail = "cursor is not of this search: send nextCursor unchanged, and change only limit";
        return HttpProblem { detail: detail.to_owned(), ..HttpProblem::from(problem).in_field("cursor") };
    }
    problem.into()
}
