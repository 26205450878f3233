//! `POST /v1/documents/get`: returns a document.

use axum::extract::State;
use runtime::http::{HttpProblem, Json};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::v1::documents::document_body::DocumentBody;
use crate::http::v1::documents::scope_body::{ScopeBody, locate};
use conversations::documents::{Document, find};
use http_listener::callers::service::{Service, ServiceHeaders};
use http_listener::state::HttpState;

/// The name of a document.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetDocumentBody {
    /// Whose document.
    scope: Option<ScopeBody>,
    /// The labels of the namespace.
    namespace: Vec<String>,
    /// The key.
    key: String,
}

/// A document.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetDocumentResult {
    /// The document. `null`: it does not exist, or it belongs to another owner, agent or tenant.
    document: Option<DocumentBody>,
}

/// Get a document.
///
/// The answer includes every earlier write. Needs a token with the scope `read`.
#[utoipa::path(
    post,
    path = "/v1/documents/get",
    tag = "documents",
    params(ServiceHeaders),
    request_body = GetDocumentBody,
    responses((status = 200, description = "The document.", body = GetDocumentResult)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn get_document(
    State(state): State<HttpState>,
    service: Service,
    Json(body): Json<GetDocumentBody>,
) -> Result<Json<GetDocumentResult>, HttpProblem> {
    let name = (body.namespace, body.key);
    let location = locate(&state, &service, &[], body.scope, name).await?;
    let found = find(&state.gateway, &location).await?;
    let value = found.live(state.now()).cloned();
    let document =
        value.map(|value| Document { conversation: location.target.key.conversation, name: location.name, value });
    Ok(Json(GetDocumentResult { document: document.map(DocumentBody::from) }))
}
