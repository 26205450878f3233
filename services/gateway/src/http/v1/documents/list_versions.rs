//! `POST /v1/documents/versions`: returns the versions of a document.

use axum::extract::State;
use runtime::http::{HttpProblem, Json};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::v1::documents::scope_body::{ScopeBody, locate};
use api_json::content::Verbatim;
use api_json::instant::rfc3339;
use conversations::documents::{DOCUMENTS_PAGE, DocumentVersion, versions};
use http_listener::callers::service::{Service, ServiceHeaders};
use http_listener::state::HttpState;

/// The name of a document, and which of its versions to return.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListVersionsBody {
    /// Whose document.
    scope: Option<ScopeBody>,
    /// The labels of the namespace.
    namespace: Vec<String>,
    /// The key.
    key: String,
    /// Only versions before this one; 0 or absent: all.
    before_version: Option<u64>,
    /// Most versions; 1 to 100; 0 or absent: 10. An answer is at most 3 MiB.
    #[schema(maximum = 100)]
    limit: Option<u32>,
}

/// The versions of a document.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListVersionsResult {
    /// The versions, the newest first.
    versions: Vec<DocumentVersionBody>,
    /// The `beforeVersion` of the next request. Absent: there are no more versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_before_version: Option<u64>,
}

/// A value or the deletion of a document.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentVersionBody {
    /// Its version.
    version: u64,
    /// When it was recorded; RFC 3339.
    recorded_at: String,
    /// Whether the document was deleted.
    is_deleted: bool,
    /// The value, as it was given. Absent: the document was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Verbatim>,
    /// The document is read for this many seconds after its record. Absent: for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_seconds: Option<u64>,
}

/// List the versions of a document.
///
/// The answer includes every earlier write. Needs a token with the scope `read`.
#[utoipa::path(
    post,
    path = "/v1/documents/versions",
    tag = "documents",
    params(ServiceHeaders),
    request_body = ListVersionsBody,
    responses((status = 200, description = "The versions.", body = ListVersionsResult)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn list_versions(
    State(state): State<HttpState>,
    service: Service,
    Json(body): Json<ListVersionsBody>,
) -> Result<Json<ListVersionsResult>, HttpProblem> {
    let limit = DOCUMENTS_PAGE.take(body.limit.unwrap_or_default())?;
    let name = (body.namespace, body.key);
    let location = locate(&state, &service, &[], body.scope, name).await?;
    let before = body.before_version.unwrap_or_default();
    let page = versions(&state.gateway, &location, before, limit).await?;
    Ok(Json(ListVersionsResult {
        versions: page.versions.into_iter().map(Into::into).collect(),
        next_before_version: (page.next_before != 0).then_some(page.next_before),
    }))
}

impl From<DocumentVersion> for DocumentVersionBody {
    fn from(version: DocumentVersion) -> Self {
        Self {
            version: version.version.0,
            recorded_at: rfc3339(version.recorded_at),
            is_deleted: version.value.is_none(),
            value: version.value.map(Verbatim),
            ttl_seconds: version.ttl_seconds,
        }
    }
}
