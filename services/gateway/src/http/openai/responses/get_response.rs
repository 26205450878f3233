//! `GET /openai/v1/responses/{id}`: a recorded response, whole or as events.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use domain::{RunEnd, RunPart, RunPartKind};
use http_listener::state::HttpState;
use openai_api::responses::object::ResponseObject;
use openai_api::responses::output::OutputPlace;
use runtime::http::{HttpProblem, Json, Path, Query, StreamSlot};

use super::recorded::RecordedResponse;
use super::response_query::GetResponseQuery;
use super::stream::ResponseEvents;
use crate::http::openai::caller::{OpenAiCaller, OpenAiHeaders};
use crate::http::turns::delivery;

/// Get a recorded response.
///
/// As events, the parts of its run are sent again, with the same numbers as before. After the parts have expired, the output is
/// sent as whole items.
#[utoipa::path(
    get,
    path = "/openai/v1/responses/{id}",
    tag = "openai",
    params(
        ("id" = String, Path, description = "The response."),
        GetResponseQuery,
        OpenAiHeaders,
    ),
    responses((status = 200, description = "The response, whole or as events.", content(
        (ResponseObject = "application/json"),
        (String = "text/event-stream"),
    ))),
    security(("service_token" = []))
)]
pub(in crate::http) async fn get_response(
    State(state): State<HttpState>,
    open: StreamSlot,
    caller: OpenAiCaller,
    Path(id): Path<String>,
    Query(query): Query<GetResponseQuery>,
) -> Result<Response, HttpProblem> {
    let found = RecordedResponse::find(&state, &caller, &id).await?;
    if !query.stream {
        return Ok(Json(found.object()?).into_response());
    }
    let (key, run) = (&found.target.key, found.id.run);
    let mut answer = state.answer(key, run).await?;
    if let Some((end, _)) = &found.end {
        answer = answer.or_parts(|| recorded(&found, end.clone())).await;
    }
    let place = OutputPlace::of(run, found.id.started, &key.conversation);
    let events = ResponseEvents::new(ResponseObject::in_progress(found.head()), place);
    Ok(delivery::stream(answer, events.after(query.starting_after), open))
}

/// The parts of the recorded output.
fn recorded(found: &RecordedResponse, end: RunEnd) -> Vec<RunPart> {
    let kinds = [RunPartKind::StepFinished(found.facts()), RunPartKind::RunEnded(end)];
    (1..).zip(kinds).map(|(number, kind)| RunPart { number, kind }).collect()
}
