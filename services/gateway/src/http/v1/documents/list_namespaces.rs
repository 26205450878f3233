//! `POST /v1/documents/namespaces`: returns the namespaces of documents.

use axum::extract::State;
use runtime::http::{HttpProblem, Json};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::v1::documents::scope_body::{ScopeBody, authorize, labels};
use conversations::documents::{DOCUMENT_DEPTH, DOCUMENT_NAMESPACES_PAGE, DocumentsPage, NamespaceSearch, namespaces};
use conversations::positions;
use http_listener::callers::service::{Service, ServiceHeaders};
use http_listener::state::HttpState;

/// Which namespaces to return.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListNamespacesBody {
    /// Whose documents.
    scope: Option<ScopeBody>,
    /// Their first labels; `*` matches every label.
    prefix: Option<Vec<String>>,
    /// Their last labels; `*` matches every label.
    suffix: Option<Vec<String>>,
    /// Only this many first labels are returned, without duplicates; 1 to 16; 0 or absent: all.
    #[schema(maximum = 16)]
    max_depth: Option<u32>,
    /// Most namespaces; 1 to 1,000; 0 or absent: 100.
    #[schema(maximum = 1_000)]
    limit: Option<u32>,
    /// How many of the first namespaces are skipped; at most 10,000.
    #[schema(maximum = 10_000)]
    offset: Option<u32>,
}

/// Namespaces.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListNamespacesResult {
    /// The labels of each namespace, in the order of their labels.
    namespaces: Vec<Vec<String>>,
    /// Whether there are more: continue with the offset after the last one.
    has_more: bool,
}

/// List namespaces of documents.
///
/// What was just recorded may be missing for a moment, unless the request has its `x-position-token`. Needs a token with the scope
/// `read`.
#[utoipa::path(
    post,
    path = "/v1/documents/namespaces",
    tag = "documents",
    params(ServiceHeaders),
    request_body = ListNamespacesBody,
    responses((status = 200, description = "The namespaces.", body = ListNamespacesResult)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn list_namespaces(
    State(state): State<HttpState>,
    service: Service,
    Json(body): Json<ListNamespacesBody>,
) -> Result<Json<ListNamespacesResult>, HttpProblem> {
    let prefix = labels(body.prefix, "prefix")?;
    let suffix = labels(body.suffix, "suffix")?;
    let limit = DOCUMENT_NAMESPACES_PAGE.take(body.limit.unwrap_or_default());
    let offset = DocumentsPage::check_offset(body.offset.unwrap_or_default());
    let depth = DOCUMENT_DEPTH
        .take(body.max_depth.unwrap_or_default())
        .map_err(|violation| HttpProblem::from(domain::Violation { field: "maxDepth".into(), ..violation }))?;
    let page =
        DocumentsPage { offset: offset?, limit: limit?, fences: positions::fences(), deadline: service.call.deadline };
    let (access, scope) = authorize(&state, &service, &[], body.scope).await?;
    let wanted = NamespaceSearch { access, scope, prefix, suffix, depth_max: depth, page, now: state.now() };
    let found = namespaces(&state.gateway, wanted).await;
    let (found, has_more) = found?;
    let found = found.iter().map(|namespace| namespace.labels().to_vec());
    Ok(Json(ListNamespacesResult { namespaces: found.collect(), has_more }))
}
