//! `POST /openai/v1/conversations/{id}`: replaces the metadata.

use axum::extract::State;
use openai_api::metadata;
use runtime::http::{HttpProblem, Json, Path};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use wire::proto::write::v1 as write;

use super::{ConversationObject, object};
use crate::http::openai::caller::{OpenAiCaller, OpenAiHeaders};
use crate::http::openai::rejected::rejected;
use http_listener::state::HttpState;

/// The new metadata.
#[derive(Debug, Deserialize, ToSchema)]
pub struct UpdateOpenAiConversationBody {
    /// All metadata: at most 16 pairs, with keys of at most 64 characters and values of at most 512. `null`: none.
    #[schema(value_type = Option<Object>, required)]
    metadata: Box<RawValue>,
}

/// Replace the metadata of a conversation.
#[utoipa::path(
    post,
    path = "/openai/v1/conversations/{id}",
    tag = "openai",
    params(("id" = String, Path, description = "The conversation."), OpenAiHeaders),
    request_body = UpdateOpenAiConversationBody,
    responses((status = 200, description = "The conversation.", body = ConversationObject)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn update_openai_conversation(
    State(state): State<HttpState>,
    caller: OpenAiCaller,
    Path(id): Path<String>,
    Json(body): Json<UpdateOpenAiConversationBody>,
) -> Result<Json<ConversationObject>, HttpProblem> {
    let metadata_json = metadata::checked(Some(&body.metadata))?;
    let writable = caller.writable(&state, &id).await?;
    let request = write::UpdateConversationRequest {
        target: Some(writable.destination.target(None)),
        update_mask: Some(prost_types::FieldMask { paths: vec!["metadata_json".to_owned()] }),
        metadata_json,
        ..write::UpdateConversationRequest::default()
    };
    caller.request(&state).send(request).await.map_err(rejected)?;
    let target = caller.target(&state, &id).await?;
    object(caller.open(&state, &target).await?).await.map(Json)
}
