//! `GET /dashboard/search`: texts of the tenant's conversations that contain words, the newest first.

use axum::extract::State;
use axum::http::StatusCode;
use history::Deadline;
use pages::components::PageLinks;
use pages::dashboard::search::{self as page, FoundText, PATH};
use pages::layout::Freshness;
use runtime::http::{HttpProblem, Query};
use serde::Deserialize;
use wire::status::Problem;

use super::audit::{self, Action, DashboardAction};
use super::list_url::list_url;
use crate::page::Page;
use crate::person::Person;
use conversations::positions;
use conversations::search::{
    SEARCH_PAGE, SearchAgents, SearchAudience, SearchOrder, SearchPage, SearchRequest, SearchResult, search,
};
use http_listener::state::HttpState;

#[derive(Debug, Default, Deserialize)]
pub(super) struct SearchQuery {
    /// The query; absent: nothing is searched.
    #[serde(default)]
    q: String,
    /// The token of the page; absent: the first page.
    #[serde(default)]
    page: String,
}

pub(super) async fn search_texts(
    State(state): State<HttpState>,
    person: Person,
    Query(query): Query<SearchQuery>,
) -> Result<(StatusCode, Page), HttpProblem> {
    let (found, wrong) = match read(&state, &person, &query).await? {
        Ok(found) => (found, None),
        Err(wrong) => (SearchPage::default(), Some(wrong)),
    };
    let first = list_url(PATH, &query.q, None);
    let next = found.next.as_deref().map(|token| list_url(PATH, &query.q, Some(token)));
    let rows: Vec<FoundText> = found.results.into_iter().map(row).collect();
    let markup = page::search(page::SearchPage {
        person: person.layout(),
        query: &query.q,
        error: wrong.as_deref(),
        found: &rows,
        count: found.match_count.map(|count| (count.count, count.is_capped)),
        is_reindexing: found.is_reindexing,
        links: PageLinks { first: (!query.page.is_empty()).then_some(first.as_str()), next: next.as_deref() },
        freshness: found.indexed_until.map_or(Freshness::None, Freshness::UpTo),
    });
    let status = match wrong {
        Some(_) => StatusCode::BAD_REQUEST,
        None => StatusCode::OK,
    };
    Ok((status, Page(markup)))
}

/// Searches, after the search is in the audit log. The inner error is what is wrong with the query.
async fn read(
    state: &HttpState,
    person: &Person,
    query: &SearchQuery,
) -> Result<Result<SearchPage, String>, HttpProblem> {
    if query.q.trim().is_empty() {
        return Ok(Ok(SearchPage::default()));
    }
    let action = Action { action: DashboardAction::Viewed, conversation: None, detail: "search" };
    audit::record(state, person, action).await?;
    let size = SEARCH_PAGE.take(0)?;
    let request = SearchRequest {
        access: person.admin.tenant.clone(),
        agents: SearchAgents::Tenant,
        owner: None,
        audience: SearchAudience::Staff,
        query: &query.q,
        order: SearchOrder::Newest,
        page_token: &query.page,
        page_size: size,
        fences: positions::fences(),
        deadline: Deadline::until(None),
    };
    match search(&state.gateway, request).await {
        Ok(found) => Ok(Ok(found)),
        Err(wrong) if is_of_query(&wrong) => Ok(Err(HttpProblem::from(wrong).detail)),
        Err(failed) => Err(HttpProblem::from(failed)),
    }
}

fn is_of_query(problem: &Problem) -> bool {
    problem.field().is_some_and(|field| field == "query")
}

fn row(found: SearchResult) -> FoundText {
    let of = found.role.map(|role| role.as_str().to_owned());
    let kind = match of.or(found.tool_name) {
        Some(of) => format!("{} · {of}", found.kind.as_str().replace('_', " ")),
        None => found.kind.as_str().replace('_', " "),
    };
    FoundText {
        conversation: found.conversation.as_str().to_owned(),
        title: found.title.unwrap_or_default(),
        agent: found.agent.as_str().to_owned(),
        owner: found.user.map(|user| user.as_str().to_owned()),
        kind,
        version: found.version,
        at: found.recorded_at,
        is_rewound: found.is_rewound,
        snippet: found.snippet.into_iter().map(|part| (part.text, part.is_match)).collect(),
    }
}
