//! `POST /v1/histories/{key}/load`: the stored history of a key, merged with the caller's messages.

use axum::extract::State;
use runtime::http::{HttpProblem, Json, Path, Query};
use serde::Deserialize;
use utoipa::ToSchema;

use super::history_body::{HistoryBody, LoadQuery};
use super::named_history::{NamedHistory, NamespaceQuery, current_messages};
use crate::http::v1::new_events::new_message::NewMessageBody;
use http_listener::callers::service::{Service, ServiceHeaders};
use http_listener::state::HttpState;

/// The caller's messages.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadHistoryBody {
    /// Oldest first: none, the newest one, or the whole thread; at most 1,000. Messages of the roles system and developer are
    /// not part of the history: they come first in the answer.
    messages: Vec<NewMessageBody>,
}

/// Load a history, merged with new messages.
///
/// As `GET /v1/histories/{key}`, with the given messages that are not stored: what the model reads next. Nothing is recorded.
#[utoipa::path(
    post,
    path = "/v1/histories/{key}/load",
    tag = "histories",
    params(
        ("key" = String, Path, description = "The caller's key, percent-encoded."),
        NamespaceQuery,
        LoadQuery,
        ServiceHeaders,
    ),
    request_body = LoadHistoryBody,
    responses((status = 200, description = "The history.", body = HistoryBody)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn load_history(
    State(state): State<HttpState>,
    service: Service,
    Path(key): Path<String>,
    Query(namespace): Query<NamespaceQuery>,
    Query(query): Query<LoadQuery>,
    Json(body): Json<LoadHistoryBody>,
) -> Result<Json<HistoryBody>, HttpProblem> {
    let current = current_messages(body.messages)?;
    let history = NamedHistory::find(&state, &service, &[], &key, &namespace).await?;
    query.load(&state, history, &current).await.map(Json)
}
