//! `POST /openai/v1/chat/completions`: an agent's model answers the messages of the request.

use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use domain::{Fact, Owner, RunPartKind};
use event_log::registry::Scope;
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use runtime::http::{DrainSignal, HttpProblem, Json, StreamSlot};
use serde_json::json;
use tokio::time::timeout;
use uuid::Uuid;

use super::answer::{CompletionBody, choice, usage};
use super::chunks::{ChunkHead, CompletionChunk};
use super::completion_stream::CompletionStream;
use super::failure::{ended_early, not_supported, problem_of};
use super::request::CompletionRequest;
use crate::generation::{FollowItem, StatelessTurn};
use crate::http::openai::caller::{OpenAiCaller, OpenAiHeaders};
use crate::http::openai::errors::OpenAiError;
use crate::http::openai::requested_model::RequestedModel;
use crate::http::problem;
use crate::http::state::HttpState;
use crate::http::turns::delayed_answer;
use crate::quotas::account::Account;

/// A header of requests that record; not supported.
const CONVERSATION_HEADER: &str = "x-hansard-conversation";

/// Create a chat completion.
///
/// The model of the agent answers, in a context that the agent's policy assembles from the messages. Nothing is recorded. Quotas
/// count as for runs. An answer that takes long begins with white space; if it fails later, its body is the error.
#[utoipa::path(
    post,
    path = "/openai/v1/chat/completions",
    tag = "openai",
    params(OpenAiHeaders),
    request_body = CompletionRequest,
    responses((status = 200, description = "The completion, whole or streamed.", content(
        (CompletionBody = "application/json"),
        (CompletionChunk = "text/event-stream"),
    ))),
    security(("service_token" = []))
)]
pub(in crate::http) async fn create_completion(
    State(state): State<HttpState>,
    open: StreamSlot,
    caller: OpenAiCaller,
    headers: HeaderMap,
    Json(body): Json<CompletionRequest>,
) -> Result<Response, HttpProblem> {
    let model = Some(body.model.as_str());
    let model = RequestedModel::find(&state, &caller, Scope::Append, model).await?;
    if headers.contains_key(CONVERSATION_HEADER) {
        return Err(not_supported(CONVERSATION_HEADER));
    }
    let turn = StatelessTurn {
        settings: body.settings(model.other)?,
        facts: body.facts()?,
        after: None,
    };
    let (field, named) = match (&body.user, &body.safety_identifier) {
        (Some(user), _) => ("user", Some(user)),
        (None, user) => ("safety_identifier", user.as_ref()),
    };
    let owner = caller.user(field, named.cloned())?.map(Owner::User);
    let account = Account::of(&model.access, owner.as_ref(), &caller.source());
    let head = ChunkHead {
        id: format!("chatcmpl-{}", Uuid::now_v7().simple()),
        created: state.now().seconds(),
        includes_usage: body.includes_usage(),
        model: body.model,
    };
    let parts = state.generations.answer_stateless(account, turn).await;
    let parts = parts.map_err(problem::from_problem)?;
    if body.stream.unwrap_or_default() {
        let parts = begun(&state, parts).await?;
        return Ok(CompletionStream { head, parts }.respond(open));
    }
    let answering = whole(head, parts, open.drain());
    let late = |problem: &HttpProblem| json!(OpenAiError::from(problem));
    delayed_answer::respond(&state, open, answering, late).await
}

/// The parts of an answer after the first one has arrived, so that a failure before it has a status. A slow model's answer starts
/// without it.
async fn begun(
    state: &HttpState,
    mut parts: BoxStream<'static, FollowItem>,
) -> Result<BoxStream<'static, FollowItem>, HttpProblem> {
    let wait = Duration::from_millis(state.section.server.request_timeout_ms) / 2;
    let Ok(first) = timeout(wait, parts.next()).await else {
        return Ok(parts);
    };
    if let Some(FollowItem::Part(part)) = &first
        && let RunPartKind::RunEnded(end) = &part.kind
        && let Some(problem) = problem_of(end)
    {
        return Err(problem);
    }
    Ok(stream::iter(first).chain(parts).boxed())
}

/// The whole completion.
async fn whole(
    head: ChunkHead,
    parts: BoxStream<'static, FollowItem>,
    draining: DrainSignal,
) -> Result<CompletionBody, HttpProblem> {
    let facts = facts(parts, draining).await?;
    Ok(CompletionBody {
        id: head.id,
        object: "chat.completion",
        created: head.created,
        model: head.model,
        choices: [choice(&facts)],
        usage: usage(&facts),
    })
}

/// The facts of the reply.
async fn facts(
    mut parts: BoxStream<'static, FollowItem>,
    draining: DrainSignal,
) -> Result<Vec<Fact>, HttpProblem> {
    let mut reply = Vec::new();
    loop {
        let followed = tokio::select! {
            biased;
            () = draining.begun() => return Err(ended_early()),
            followed = parts.next() => followed,
        };
        let Some(FollowItem::Part(part)) = followed else {
            return Err(ended_early());
        };
        match part.kind {
            RunPartKind::StepFinished(facts) => reply = facts,
            RunPartKind::RunEnded(end) => {
                return match problem_of(&end) {
                    Some(problem) => Err(problem),
                    None => Ok(reply),
                };
            }
            RunPartKind::TextDelta(_)
            | RunPartKind::ThinkingDelta(_)
            | RunPartKind::RefusalDelta(_)
            | RunPartKind::CallBegan { .. }
            | RunPartKind::CallInput { .. }
            | RunPartKind::ToolReturned(_)
            | RunPartKind::KeptAlive => {}
        }
    }
}
