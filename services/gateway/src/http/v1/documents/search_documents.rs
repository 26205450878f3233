//! `POST /v1/documents/search`: returns the documents whose values match.

use axum::extract::State;
use runtime::http::{HttpProblem, Json};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::http::v1::documents::document_body::DocumentBody;
use crate::http::v1::documents::scope_body::{ScopeBody, authorize, labels};
use api_json::content::json_text;
use conversations::documents::{DOCUMENTS_PAGE, DocumentSearch, DocumentsPage, parse_filter, search};
use conversations::positions;
use http_listener::callers::service::{Service, ServiceHeaders};
use http_listener::state::HttpState;

/// Which documents to return.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SearchDocumentsBody {
    /// Whose documents.
    scope: Option<ScopeBody>,
    /// The first labels of their namespaces, as whole labels; absent: all namespaces.
    namespace_prefix: Option<Vec<String>>,
    /// Conditions on the values, all of which must match; an object of at most 16 KiB and 32 conditions. A member is compared with
    /// the value's member of the same name: a scalar or list for equality, an object member by member. An object of `$eq`, `$ne`,
    /// `$gt`, `$gte`, `$lt`, `$lte` compares by these operators.
    #[schema(value_type = Option<Object>)]
    filter: Option<Box<RawValue>>,
    /// Most documents; 1 to 100; 0 or absent: 10. An answer is at most 3 MiB.
    #[schema(maximum = 100)]
    limit: Option<u32>,
    /// How many of the first documents are skipped; at most 10,000.
    #[schema(maximum = 10_000)]
    offset: Option<u32>,
}

/// The documents that match.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchDocumentsResult {
    /// The documents, the last updated first.
    documents: Vec<DocumentBody>,
    /// Whether there are more: continue with the offset after the last one.
    has_more: bool,
}

/// Search documents.
///
/// What was just recorded may be missing for a moment, unless the request has its `x-position-token`. Needs a token with the scope
/// `read`.
#[utoipa::path(
    post,
    path = "/v1/documents/search",
    tag = "documents",
    params(ServiceHeaders),
    request_body = SearchDocumentsBody,
    responses((status = 200, description = "The documents that match.", body = SearchDocumentsResult)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn search_documents(
    State(state): State<HttpState>,
    service: Service,
    Json(body): Json<SearchDocumentsBody>,
) -> Result<Json<SearchDocumentsResult>, HttpProblem> {
    let prefix = labels(body.namespace_prefix, "namespacePrefix")?;
    let conditions = parse_filter(&json_text(body.filter)).map_err(|violation| violation.within("filter"))?;
    let limit = DOCUMENTS_PAGE.take(body.limit.unwrap_or_default());
    let offset = DocumentsPage::check_offset(body.offset.unwrap_or_default());
    let page =
        DocumentsPage { offset: offset?, limit: limit?, fences: positions::fences(), deadline: service.call.deadline };
    let (access, scope) = authorize(&state, &service, &[], body.scope).await?;
    let wanted = DocumentSearch { access, scope, prefix, conditions, page, now: state.now() };
    let found = search(&state.gateway, wanted).await;
    let (found, has_more) = found?;
    Ok(Json(SearchDocumentsResult { documents: found.into_iter().map(DocumentBody::from).collect(), has_more }))
}
