//! `GET /openai/v1/responses/{id}`: a recorded response, whole or as events.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use domain::{RunEnd, RunPart, RunPartKind};
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use runtime::http::{HttpProblem, Json, Path, Query, StreamSlot};

use super::object::ResponseObject;
use super::output::OutputPlace;
use super::recorded::RecordedResponse;
use super::response_query::GetResponseQuery;
use super::response_stream::Answer;
use super::stream::ResponseEvents;
use crate::http::openai::caller::{OpenAiCaller, OpenAiHeaders};
use crate::http::problem;
use crate::http::state::HttpState;
use conversations::generation::FollowItem;

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
    let followed = state.generations.follow(key, run, 1).await.map_err(problem::from_problem)?.boxed();
    let answer = Answer {
        parts: or_recorded(followed, &found).await,
        finished: state.wait_until_finished(key, run),
        events: ResponseEvents::new(
            ResponseObject::in_progress(found.head()),
            OutputPlace::of(run, found.id.started, &key.conversation),
        ),
    };
    Ok(answer.respond(open, query.starting_after))
}

/// The parts of the run, or of its recorded output if the parts have expired.
async fn or_recorded(
    mut parts: BoxStream<'static, FollowItem>,
    found: &RecordedResponse,
) -> BoxStream<'static, FollowItem> {
    let Some((end, _)) = &found.end else {
        return parts;
    };
    match parts.next().await {
        Some(FollowItem::Gone) | None => recorded(found, end.clone()),
        first => stream::iter(first).chain(parts).boxed(),
    }
}

fn recorded(found: &RecordedResponse, end: RunEnd) -> BoxStream<'static, FollowItem> {
    let kinds = [RunPartKind::StepFinished(found.facts()), RunPartKind::RunEnded(end)];
    let parts = (1..).zip(kinds).map(|(number, kind)| FollowItem::Part(RunPart { number, kind }));
    stream::iter(parts.collect::<Vec<_>>()).boxed()
}
