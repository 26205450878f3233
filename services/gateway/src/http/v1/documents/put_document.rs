//! `PUT /v1/documents`: records a value.

use axum::extract::State;
use registry::Scope;
use runtime::http::{HttpProblem, Json};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::scope_body::{ScopeBody, change, locate};
use api_json::content::json_text;
use conversations::documents::{NewValue, put};
use http_listener::callers::service::{Service, ServiceHeaders};
use http_listener::idempotency::IdempotencyKey;
use http_listener::state::HttpState;
use runtime::http::field_names::with_member_names;

/// A document and its new value.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PutDocumentBody {
    /// Whose document; not a conversation's.
    scope: Option<ScopeBody>,
    /// The labels of the namespace; 1 to 16, each 1 to 256 bytes; together at most 1,024 bytes, with one byte more for each.
    namespace: Vec<String>,
    /// The key; 1 to 256 bytes.
    key: String,
    /// The value: any JSON, recorded verbatim, at most 64 KiB.
    #[schema(value_type = serde_json::Value)]
    value: Box<RawValue>,
    /// The document is read for this many seconds after its record; absent: for ever.
    #[schema(maximum = 316_224_000)]
    ttl_seconds: Option<u64>,
    /// The version that the document must have: 409 `VERSION_CONFLICT` otherwise. 0: it must not exist.
    expected_version: Option<u64>,
}

/// The recorded value.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PutDocumentResult {
    /// The version of the document.
    version: u64,
    /// Its conversation.
    conversation_id: String,
    /// The position of the commit, as in the header `x-position-token`.
    position_token: String,
}

/// Record a value of a document.
///
/// The answer is sent after the value is on disk. Needs a token with the scopes `read` and `append`. An erased document is 409
/// `CONVERSATION_ERASED`: its name cannot be used again.
#[utoipa::path(
    put,
    path = "/v1/documents",
    tag = "documents",
    params(
        ServiceHeaders,
        ("idempotency-key" = Option<String>, Header, description = "A UUID that identifies this request in all of its retries."),
    ),
    request_body = PutDocumentBody,
    responses((status = 200, description = "The version of the document.", body = PutDocumentResult)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn put_document(
    State(state): State<HttpState>,
    service: Service,
    key: IdempotencyKey,
    Json(body): Json<PutDocumentBody>,
) -> Result<Json<PutDocumentResult>, HttpProblem> {
    let scopes = [Scope::Append];
    let name = (body.namespace, body.key);
    let location = locate(&state, &service, &scopes, body.scope, name).await?;
    let change = change(&state, &service, &location, body.expected_version, key);
    let value = NewValue { value_json: json_text(Some(body.value)), ttl_seconds: body.ttl_seconds.unwrap_or_default() };
    let written = put(change, value).await.map_err(with_member_names)?;
    Ok(Json(PutDocumentResult {
        version: written.version,
        conversation_id: location.target.key.conversation.to_string(),
        position_token: written.position_token,
    }))
}
