//! `POST /v1/documents/delete`: deletes a document.

use axum::extract::State;
use registry::Scope;
use runtime::http::{HttpProblem, Json};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::v1::documents::scope_body::{ScopeBody, change, locate};
use conversations::documents::delete;
use http_listener::callers::service::{Service, ServiceHeaders};
use http_listener::idempotency::IdempotencyKey;
use http_listener::state::HttpState;

/// The name of a document.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeleteDocumentBody {
    /// Whose document; not a conversation's.
    scope: Option<ScopeBody>,
    /// The labels of the namespace.
    namespace: Vec<String>,
    /// The key.
    key: String,
    /// The version that the document must have: 409 `VERSION_CONFLICT` otherwise.
    expected_version: Option<u64>,
}

/// The result of a deletion.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeleteDocumentResult {
    /// Whether there was a document.
    deleted: bool,
    /// The version of the deletion. Absent: nothing was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
}

/// Delete a document.
///
/// Its earlier values stay in its history until its conversation is erased. Needs a token with the scopes `read` and `append`.
#[utoipa::path(
    post,
    path = "/v1/documents/delete",
    tag = "documents",
    params(
        ServiceHeaders,
        ("idempotency-key" = Option<String>, Header, description = "A UUID that identifies this request in all of its retries."),
    ),
    request_body = DeleteDocumentBody,
    responses((status = 200, description = "Whether there was a document.", body = DeleteDocumentResult)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn delete_document(
    State(state): State<HttpState>,
    service: Service,
    key: IdempotencyKey,
    Json(body): Json<DeleteDocumentBody>,
) -> Result<Json<DeleteDocumentResult>, HttpProblem> {
    let scopes = [Scope::Append];
    let name = (body.namespace, body.key);
    let location = locate(&state, &service, &scopes, body.scope, name).await?;
    let change = change(&state, &service, &location, body.expected_version, key);
    let deleted = delete(change).await?;
    let version = deleted.written.version;
    Ok(Json(DeleteDocumentResult { deleted: deleted.deleted, version: (version != 0).then_some(version) }))
}
