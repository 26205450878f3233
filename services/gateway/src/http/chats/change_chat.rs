//! `PATCH /api/chats/{id}`: changes title or metadata, archives or restores a conversation.

use axum::extract::State;
use domain::FieldChange;
use quotas::Quota;
use runtime::http::{HttpProblem, Json, Path};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use wire::proto::write::v1 as write;

use api_json::content::json_text;
use api_json::conversation::ConversationBody;
use conversations::commands::Issuer;
use conversations::names::names;
use conversations::open::{OwnedChat, find_chat, find_latest_chat};
use conversations::quotas::account::Account;
use conversations::quotas::size_of_message;
use http_listener::callers::frontend::Frontend;
use http_listener::callers::headers::{CallerHeaders, CallerIds};
use http_listener::idempotency::IdempotencyKey;
use http_listener::state::HttpState;

/// The changes. Absent members stay unchanged.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChangeChatBody {
    /// The title, at most 1,024 bytes; `null` or empty removes it.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, example = "Shipping to Leeds")]
    title: Option<FieldChange<String>>,
    /// Whether it is archived: it then accepts no messages.
    #[serde(default)]
    archived: Option<bool>,
    /// The new metadata: an object, at most 64 KiB; `null` removes it.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Object>)]
    metadata: Option<FieldChange<Box<RawValue>>>,
}

/// A member that is present; `null` removes the value.
pub(in crate::http) fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<FieldChange<T>>, D::Error> {
    let value = Option::<T>::deserialize(deserializer)?;
    Ok(Some(FieldChange::to(value)))
}

/// Change a conversation.
///
/// An archived conversation accepts no other change until it is restored. A request that sets `archived` and other
/// members is executed in the order that makes both possible. Title and metadata change together. Archiving is a
/// separate step, so one of the two steps may fail alone.
#[utoipa::path(
    patch,
    path = "/api/chats/{id}",
    tag = "chats",
    params(
        ("id" = String, Path, description = "The conversation."),
        CallerHeaders,
        ("idempotency-key" = Option<String>, Header, description = "A UUID that identifies this request in all of its retries."),
    ),
    request_body = ChangeChatBody,
    responses((status = 200, description = "The changed conversation.", body = ConversationBody)),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn change_chat(
    State(state): State<HttpState>,
    frontend: Frontend,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Json(body): Json<ChangeChatBody>,
) -> Result<Json<ConversationBody>, HttpProblem> {
    let caller = frontend.caller(&state, CallerIds::default()).await?;
    let chat = find_latest_chat(&state, &caller, &id).await?;
    if body.archived == Some(false) {
        restore(&state, &chat, key).await?;
    }
    if body.title.is_some() || body.metadata.is_some() {
        let request = update(&chat, body.title, body.metadata, key);
        let account = Account::of(&caller.access, Some(&caller.owner), &frontend.via);
        let sent = [(Quota::StoredBytes, size_of_message(&request))];
        let command = state.commands.send(Issuer::Gateway, request);
        state.quotas().with_send_quota(&account, &sent, command, |changed| changed).await?;
    }
    if body.archived == Some(true) {
        archive(&state, &chat, key).await?;
    }
    let chat = find_chat(&state, &caller, &id).await?;
    let names = names(&state, &caller.access, &caller.owner)?;
    Ok(Json(ConversationBody::from(&chat.conversation).named(|id| names.shown(id))))
}

fn update(
    chat: &OwnedChat,
    title: Option<FieldChange<String>>,
    metadata: Option<FieldChange<Box<RawValue>>>,
    key: IdempotencyKey,
) -> write::UpdateConversationRequest {
    let changed = [title.is_some().then_some("title"), metadata.is_some().then_some("metadata_json")];
    let paths = changed.into_iter().flatten().map(str::to_owned).collect();
    write::UpdateConversationRequest {
        target: Some(chat.command_target(key.for_part("update").0)),
        update_mask: Some(prost_types::FieldMask { paths }),
        title: title.and_then(FieldChange::into_value).unwrap_or_default(),
        metadata_json: json_text(metadata.and_then(FieldChange::into_value)),
        ..write::UpdateConversationRequest::default()
    }
}

async fn archive(state: &HttpState, chat: &OwnedChat, key: IdempotencyKey) -> Result<(), HttpProblem> {
    let target = Some(chat.command_target(key.for_part("archive").0));
    let request = write::ArchiveConversationRequest { target };
    state.commands.send(Issuer::Gateway, request).await?;
    Ok(())
}

async fn restore(state: &HttpState, chat: &OwnedChat, key: IdempotencyKey) -> Result<(), HttpProblem> {
    let target = Some(chat.command_target(key.for_part("restore").0));
    let request = write::RestoreConversationRequest { target };
    state.commands.send(Issuer::Gateway, request).await?;
    Ok(())
}
