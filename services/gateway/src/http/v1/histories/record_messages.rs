//! `POST /v1/histories/{key}/messages`: appends the new messages of the caller.

use axum::extract::State;
use domain::Version;
use registry::Scope;
use runtime::http::{HttpProblem, Json, Path, Query};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::v1::histories::history_body::{WarningBody, warning_bodies};
use crate::http::v1::histories::named_history::{NamedHistory, NamespaceQuery, current_messages};
use crate::http::v1::new_events::new_message::NewMessageBody;
use conversations::keyed_histories::{RecordedHistory, Recording, record};
use http_listener::callers::service::{Service, ServiceHeaders};
use http_listener::idempotency::IdempotencyKey;
use http_listener::state::HttpState;

/// The caller's messages.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordMessagesBody {
    /// Oldest first: only the new ones, or the whole thread; at most 1,000. Messages that are stored are not recorded again.
    /// Messages of the roles system and developer are never recorded.
    messages: Vec<NewMessageBody>,
    /// The `version` of an earlier load. With it, messages that others recorded in the meantime do not make an old message look
    /// new.
    loaded_version: Option<u64>,
}

/// The result of a record.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordedMessagesBody {
    /// The key.
    #[schema(example = "telegram:42")]
    key: String,
    /// The conversation with the history. Absent: it is unknown, see `warnings`.
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation_id: Option<String>,
    /// The owner of the conversation; equal for all agents and namespaces of the tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    channel_id: Option<String>,
    /// The number of messages that this request appended.
    appended_count: usize,
    /// The last version of the conversation that this request saw. 0: none.
    version: u64,
    /// The position of the last commit, as in the header `x-position-token`. Absent: nothing was appended.
    #[serde(skip_serializing_if = "Option::is_none")]
    position_token: Option<String>,
    /// Why not all new messages were recorded. Empty: there are no warnings.
    warnings: Vec<WarningBody>,
}

/// Record messages under a key.
///
/// The first record creates the conversation. Needs a token with the scopes `read` and `append`. The answer is sent after the
/// messages are on disk. Failures of the store and lost races are `warnings`, so that the caller can continue.
#[utoipa::path(
    post,
    path = "/v1/histories/{key}/messages",
    tag = "histories",
    params(
        ("key" = String, Path, description = "The caller's key, percent-encoded."),
        NamespaceQuery,
        ServiceHeaders,
        ("idempotency-key" = Option<String>, Header, description = "A UUID that identifies this request in all of its retries."),
    ),
    request_body = RecordMessagesBody,
    responses((status = 200, description = "The number of appended messages, and the version.", body = RecordedMessagesBody)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn record_messages(
    State(state): State<HttpState>,
    service: Service,
    idempotency_key: IdempotencyKey,
    Path(key): Path<String>,
    Query(namespace): Query<NamespaceQuery>,
    Json(body): Json<RecordMessagesBody>,
) -> Result<Json<RecordedMessagesBody>, HttpProblem> {
    let current = current_messages(body.messages)?;
    let scopes = [Scope::Append];
    let history = NamedHistory::find(&state, &service, &scopes, &key, &namespace).await?;
    let recording = Recording {
        gateway: &state.gateway,
        commands: &state.commands,
        call: &service.call,
        location: history.location(),
        current: &current,
        seen: body.loaded_version.map(Version),
        idempotency_key: idempotency_key.0,
    };
    let recorded = record(recording).await?;
    Ok(Json(RecordedMessagesBody::of(&history, recorded)))
}

impl RecordedMessagesBody {
    fn of(history: &NamedHistory, recorded: RecordedHistory) -> Self {
        let (conversation_id, channel_id) = history.ids();
        let token = recorded.position_token;
        Self {
            key: history.key.as_str().to_owned(),
            conversation_id,
            channel_id,
            appended_count: recorded.appended,
            version: recorded.version.0,
            position_token: (!token.is_empty()).then_some(token),
            warnings: warning_bodies(recorded.warning),
        }
    }
}
