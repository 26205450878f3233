//! `POST /openai/v1/chat/completions`: an agent's model answers the messages of the request.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use domain::ConversationId;
use http_listener::state::HttpState;
use openai_api::completions::answer::{CompletionBody, choice, usage};
use openai_api::completions::chunks::{ChunkHead, CompletionChunk, CompletionChunks};
use openai_api::completions::request::CompletionRequest;
use openai_api::conversation_ids::api_id;
use registry::Scope;
use runs::Outcome;
use runtime::http::{HttpProblem, Json, StreamSlot, parse_json};
use serde_json::json;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::encoder::ChunkEncoder;
use super::recorded::Exchange;
use super::recorded::client_headers::{CONVERSATION_HEADER, ClientHeaders, Recording};
use crate::http::openai::caller::{OpenAiCaller, OpenAiHeaders};
use crate::http::openai::errors::OpenAiError;
use crate::http::openai::requested_model::RequestedModel;
use crate::http::turns::delivery::{self, FailureDetail, WholeForm, problem_of};
use conversations::answer::{Answer, WholeAnswer};
use conversations::quotas::account::Account;
use conversations::turns::StatelessTurn;

/// Create a chat completion.
///
/// The model of the agent answers, in a context that the agent's policy assembles from the messages. Quotas count as for runs. An
/// answer that takes long begins with white space; if it fails later, its body is the error.
///
/// Nothing is recorded, unless `store` is `true` or the header `x-hansard-conversation` names a conversation. Then `messages` must be
/// the whole history. Messages, calls and results that the conversation does not have are recorded, and so is the answer, also if
/// the client goes away. If an earlier message differs, the conversation is rewound to the last shared event: later events are
/// hidden, not deleted. A conversation that does not exist is created for the end user; one of another end user is never used. The
/// answer names the conversation in `x-hansard-conversation`. A request that lost a race gets 400 `conversation_locked`, also while
/// a run is active. An equal request at the same version, or with the header `x-stainless-retry-count` above 0 within a minute, gets
/// the first answer.
#[utoipa::path(
    post,
    path = "/openai/v1/chat/completions",
    tag = "openai",
    params(OpenAiHeaders, ClientHeaders),
    request_body = CompletionRequest,
    responses((status = 200, description = "The completion, whole or streamed.",
        headers(("x-hansard-conversation" = Option<String>, description = "The conversation in which it is recorded.")),
        content(
            (CompletionBody = "application/json"),
            (CompletionChunk = "text/event-stream"),
        ),
    )),
    security(("service_token" = []))
)]
pub(in crate::http) async fn create_completion(
    State(state): State<HttpState>,
    open: StreamSlot,
    caller: OpenAiCaller,
    headers: HeaderMap,
    Json(raw): Json<Box<RawValue>>,
) -> Result<Response, HttpProblem> {
    let body: CompletionRequest = parse_json(raw.get().as_bytes())?;
    let caller = caller.with_body(body.user.as_deref(), body.safety_identifier.as_deref())?;
    // Boxed, because the future is large.
    let (answer, conversation) = Box::pin(answer(&state, &caller, &headers, (&raw, &body))).await?;
    let is_streamed = body.stream.unwrap_or_default();
    let head = ChunkHead {
        id: format!("chatcmpl-{}", Uuid::now_v7().simple()),
        created: state.now().seconds(),
        includes_usage: body.includes_usage(),
        model: body.model,
    };
    let mut response = if is_streamed {
        // A failure before the first part has a status. A slow model's answer starts without it.
        let failure = |outcome: &Outcome| problem_of(outcome, None, FailureDetail::Message);
        let answer = answer.begun(delivery::status_wait(&state), &open.drain().token(), failure).await?;
        delivery::stream(answer, ChunkEncoder(CompletionChunks::new(head)), open)
    } else {
        let form = WholeForm {
            body: |answer| completion(head, &answer),
            detail: FailureDetail::Message,
            late: |problem| json!(OpenAiError::from(problem)),
        };
        delivery::whole(&state, open, answer, form).await?
    };
    if let Some(conversation) = conversation {
        // Ids contain only characters that headers allow.
        let id = HeaderValue::try_from(api_id(&conversation));
        response.headers_mut().extend(id.ok().map(|id| (HeaderName::from_static(CONVERSATION_HEADER), id)));
    }
    Ok(response)
}

/// The answer, and the conversation in which it is recorded.
async fn answer(
    state: &HttpState,
    caller: &OpenAiCaller,
    headers: &HeaderMap,
    (raw, body): (&RawValue, &CompletionRequest),
) -> Result<(Answer, Option<ConversationId>), HttpProblem> {
    let model = RequestedModel::find(state, caller, Scope::Append, Some(body.model.as_str())).await?;
    let client = ClientHeaders::read(headers)?;
    let turn = StatelessTurn { settings: body.settings(model.other)?, facts: body.facts()?, after: None };
    let account = Account::of(&model.access, caller.end_user.owner().as_ref(), &caller.source());
    let recording = client.recording(&turn.facts, body.store);
    if recording == Recording::None {
        return Ok((state.answer_stateless(account, turn).await?, None));
    }
    let exchange = Exchange {
        access: model.access,
        account,
        turn,
        client,
        recording,
        metadata: body.metadata.as_deref(),
        body: raw,
    };
    let (answer, conversation) = Box::pin(exchange.answer(state, caller, headers)).await?;
    Ok((answer, Some(conversation)))
}

fn completion(head: ChunkHead, answer: &WholeAnswer) -> CompletionBody {
    CompletionBody {
        id: head.id,
        object: "chat.completion",
        created: head.created,
        model: head.model,
        choices: [choice(&answer.outcome, &answer.facts)],
        usage: usage(&answer.facts),
    }
}
