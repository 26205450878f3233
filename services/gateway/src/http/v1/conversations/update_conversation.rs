//! `PATCH /v1/conversations/{id}`: changes title, metadata or provider ids.

use axum::extract::State;
use domain::FieldChange;
use runtime::http::{HttpProblem, Json, Path};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use wire::proto::write::v1 as write;

use crate::http::chats::change_chat::given;
use crate::http::v1::conversations::CommitBody;
use api_json::content::json_text;
use conversations::commands::Issuer;
use http_listener::callers::service::{Service, ServiceHeaders};
use http_listener::idempotency::IdempotencyKey;
use http_listener::state::HttpState;

/// The changes. Absent members stay unchanged; `null` removes a value.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateConversationBody {
    /// The title, at most 1,024 bytes.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    title: Option<FieldChange<String>>,
    /// All metadata: an object, at most 64 KiB.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Object>)]
    metadata: Option<FieldChange<Box<RawValue>>>,
    /// The provider's id of the conversation, at most 256 bytes.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    provider_conversation_id: Option<FieldChange<String>>,
    /// The provider's id of its last response, at most 256 bytes.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    last_response_id: Option<FieldChange<String>>,
    /// The version that the conversation must have: 409 `VERSION_CONFLICT` otherwise. Absent: any.
    expected_version: Option<u64>,
}

/// Change title, metadata or provider ids.
///
/// All changes of a request are one commit. An archived conversation accepts none.
#[utoipa::path(
    patch,
    path = "/v1/conversations/{id}",
    tag = "conversations",
    params(
        ("id" = String, Path, description = "The conversation."),
        ServiceHeaders,
        ("idempotency-key" = Option<String>, Header, description = "A UUID that identifies this request in all of its retries."),
    ),
    request_body = UpdateConversationBody,
    responses((status = 200, description = "The commit.", body = CommitBody)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn update_conversation(
    State(state): State<HttpState>,
    service: Service,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Json(body): Json<UpdateConversationBody>,
) -> Result<Json<CommitBody>, HttpProblem> {
    let target = service.command_target(&state, &id, key.0).await?;
    let updated = state.commands.send(Issuer::Service(&service.call), body.into_request(target)).await?;
    Ok(Json(updated.into()))
}

impl UpdateConversationBody {
    fn into_request(self, target: write::CommandTarget) -> write::UpdateConversationRequest {
        let changed = [
            self.title.is_some().then_some("title"),
            self.metadata.is_some().then_some("metadata_json"),
            self.provider_conversation_id.is_some().then_some("provider_conversation_id"),
            self.last_response_id.is_some().then_some("last_response_id"),
        ];
        let paths = changed.into_iter().flatten().map(str::to_owned).collect();
        let value = |change: Option<FieldChange<String>>| change.and_then(FieldChange::into_value).unwrap_or_default();
        write::UpdateConversationRequest {
            target: Some(write::CommandTarget { expected_version: self.expected_version, ..target }),
            update_mask: Some(prost_types::FieldMask { paths }),
            title: value(self.title),
            metadata_json: json_text(self.metadata.and_then(FieldChange::into_value)),
            provider_conversation_id: value(self.provider_conversation_id),
            last_response_id: value(self.last_response_id),
        }
    }
}
