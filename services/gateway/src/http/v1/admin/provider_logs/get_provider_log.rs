//! `GET /v1/admin/provider-logs/{id}`: one logged call of a model server, with its bodies.

use axum::extract::State;
use axum::http::StatusCode;
use domain::LogId;
use read_model::queries;
use runtime::http::{HttpProblem, Json, Path};
use serde::Serialize;
use utoipa::ToSchema;
use wire::proto::operate::v1::DashboardAction;

use super::body;
use api_json::provider_log::{LoggedBodyBody, ProviderLogBody};
use history::Deadline;
use http_listener::callers::admin::Admin;
use http_listener::callers::admin_reads::{self, PROVIDER_LOG};
use http_listener::state::HttpState;

/// A logged call, with its bodies if they are stored.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WholeProviderLog {
    /// The call.
    #[serde(flatten)]
    call: ProviderLogBody,
    /// The body of the request; absent: not stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<LoggedBodyBody>,
    /// The reply: JSON of its joined pieces, or the server's error; absent: not stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<LoggedBodyBody>,
}

/// A logged call of a model server.
#[utoipa::path(
    get,
    path = "/v1/admin/provider-logs/{id}",
    tag = "admin",
    params(("id" = String, Path, description = "The call's id.")),
    responses((status = 200, description = "The call.", body = WholeProviderLog)),
    security(("bearer" = []))
)]
pub(in crate::http) async fn get_provider_log(
    State(state): State<HttpState>,
    admin: Admin,
    Path(id): Path<String>,
) -> Result<Json<WholeProviderLog>, HttpProblem> {
    let id = LogId::parse(&id).map_err(|_| not_found())?;
    let mut found = Deadline::until(None)
        .rows(queries::provider_log(&state.gateway.reader.read_model, &admin.tenant, id))
        .await?
        .ok_or_else(not_found)?;
    // The rows may lag behind an erasure; the record does not.
    let conversation = found.conversation.as_str();
    let target = admin.target(&state, conversation).await;
    target.map_err(|problem| match problem.status {
        StatusCode::NOT_FOUND => not_found(),
        _ => problem,
    })?;
    let operation = format!("GET {PROVIDER_LOG}");
    admin_reads::record(
        &state,
        (&admin.tenant, &admin.actor),
        DashboardAction::Viewed,
        (&operation, Some(conversation)),
    )
    .await?;
    let (request, reply) = (found.call.request.take(), found.call.reply.take());
    Ok(Json(WholeProviderLog {
        call: body(&found),
        request: request.map(LoggedBodyBody::from),
        reply: reply.map(LoggedBodyBody::from),
    }))
}

fn not_found() -> HttpProblem {
    let detail = "no such call is logged, or its log was deleted: check its id";
    HttpProblem::new(StatusCode::NOT_FOUND, "PROVIDER_LOG_NOT_FOUND", detail)
}
