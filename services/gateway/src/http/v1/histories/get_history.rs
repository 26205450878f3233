//! `GET /v1/histories/{key}`: the stored history of a key.

use axum::extract::State;
use runtime::http::{HttpProblem, Json, Path, Query};

use super::history_body::{HistoryBody, LoadQuery};
use super::named_history::{NamedHistory, NamespaceQuery};
use http_listener::callers::service::{Service, ServiceHeaders};
use http_listener::state::HttpState;

/// Load a history by its key.
///
/// The newest stored messages of users and assistants, oldest first. Needs a token with the scope `read`. A history that was
/// never recorded is empty, with version 0. If the store does not answer, the answer has a warning and no messages.
#[utoipa::path(
    get,
    path = "/v1/histories/{key}",
    tag = "histories",
    params(
        ("key" = String, Path, description = "The caller's key, percent-encoded: 1 to 256 letters and digits of any script, and `_ . : @ / + = -`."),
        NamespaceQuery,
        LoadQuery,
        ServiceHeaders,
    ),
    responses((status = 200, description = "The history.", body = HistoryBody)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn get_history(
    State(state): State<HttpState>,
    service: Service,
    Path(key): Path<String>,
    Query(namespace): Query<NamespaceQuery>,
    Query(query): Query<LoadQuery>,
) -> Result<Json<HistoryBody>, HttpProblem> {
    let history = NamedHistory::find(&state, &service, &[], &key, &namespace).await?;
    query.load(&state, history, &[]).await.map(Json)
}
