//! `POST /v1/chat`: one turn, with the history of a session or without.

use axum::extract::State;
use axum::response::Response;
use domain::event::{MessageAppended, Usage};
use domain::{ConversationKey, Part, RunId};
use futures::StreamExt as _;
use futures::stream::BoxStream;
use runs::{Approvals, Disclosure, UiStream};
use runtime::http::{HttpProblem, Json, StreamSlot};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;
use uuid::Uuid;
use wire::status::Reason;

use super::turn_messages::{TurnMessages, check_assistant};
use super::turn_with_history::GivenHistory;
use super::{turn_messages, turn_with_history};
use crate::http::conversation_names::{Names, names};
use crate::http::owned_chat::{OwnedChat, find_latest_chat};
use crate::http::turns::answer_stream::{AnswerStream, StreamedEvent};
use crate::http::turns::delayed_answer;
use crate::http::turns::last_turn::failed_message_version;
use crate::http::turns::permissions::AllowedRoles;
use crate::http::turns::reply::{Reply, collect_reply};
use crate::http::turns::turn::{self, StartedRun, Turn, finish_closed_run};
use crate::http::{CallerHeaders, CallerIds, Frontend, HttpState, IdempotencyKey, positions, problem};
use conversations::generation::{FollowItem, StatelessTurn};
use conversations::identity::Caller;
use conversations::quotas::account::{Account, RequestSource};

/// One turn.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TurnBody {
    /// The user's message.
    #[schema(example = "What did I ask before?")]
    message: Option<String>,
    /// The session: its history is read, and the turn is stored in it. Without a session, or with one of another owner,
    /// nothing is read or stored.
    session_id: Option<String>,
    /// The whole history, instead of the session's: the model reads it as given, with `message` at the end. Roles other
    /// than `user` are rejected unless the agent's settings allow them, or the session has the message. In a session,
    /// new messages are stored when the answer starts; 409 `VERSION_CONFLICT` if another message is recorded in the
    /// session meanwhile.
    messages: Option<Vec<turn_messages::GivenMessage>>,
    /// Whether to stream the answer as server-sent events, as `POST /api/chats/{id}/messages` does.
    #[serde(default)]
    stream: bool,
}

/// The answer of one turn.
#[derive(Debug, Serialize, ToSchema)]
pub struct AnswerBody {
    /// The answer.
    #[schema(example = "echo: What did I ask before?")]
    response: String,
    /// The session that stores it; null: not stored.
    session_id: Option<String>,
    /// The run, if the answer is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<String>,
    /// The tokens.
    usage: TurnUsageBody,
}

/// Tokens.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
#[expect(clippy::struct_field_names, reason = "the names that callers read")]
pub struct TurnUsageBody {
    /// Tokens that the model read.
    input_tokens: u64,
    /// Tokens that the model wrote.
    output_tokens: u64,
    /// Tokens that the model read from a cache.
    cached_tokens: u64,
}

/// An active turn.
struct ActiveTurn {
    /// The session and its run.
    stored: Option<(ConversationKey, RunId)>,
    ui: UiStream,
    parts: BoxStream<'static, FollowItem>,
}

/// One turn, with the history of a session or without.
///
/// The caller must be identified, with a session or without. The answer is sent complete, or as a stream. If it takes
/// long, the response starts with white space, and a later failure is sent as `{"error": {code, detail}}`.
#[utoipa::path(
    post,
    path = "/v1/chat",
    tag = "chat",
    params(CallerHeaders, ("idempotency-key" = Option<String>, Header, description = "A UUID that identifies this request in all of its retries; for turns that are stored.")),
    request_body = TurnBody,
    responses((status = 200, description = "The answer, complete or streamed.", content(
        (AnswerBody = "application/json"),
        (StreamedEvent = "text/event-stream"),
    ))),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn chat(
    State(state): State<HttpState>,
    open: StreamSlot,
    frontend: Frontend,
    key: IdempotencyKey,
    Json(body): Json<TurnBody>,
) -> Result<Response, HttpProblem> {
    let caller = frontend.caller(&state, CallerIds::default()).await?;
    let session = match &body.session_id {
        Some(id) => find_session(&state, &caller, id).await?,
        None => None,
    };
    let allowed = AllowedRoles::for_agent(&state, &caller.access.agent);
    let messages = turn_messages::messages(body.message, body.messages, &allowed)?;
    let turn = match (session, messages) {
        (Some(session), TurnMessages::Message(text)) => {
            let mut turn = Turn::default();
            turn.key = key.0;
            turn.via = frontend.via.clone();
            Box::pin(start_in_session(&state, session, text, turn)).await?
        }
        (Some(session), TurnMessages::History(messages)) => {
            let session_key = session.target.key.clone();
            let given = GivenHistory { messages, allowed, via: frontend.via.clone() };
            let started = Box::pin(turn_with_history::start(&state, session, given, key)).await?;
            follow(&state, &session_key, started).await?
        }
        (None, messages) => {
            let messages = messages.into_messages();
            check_assistant(&messages, 0..messages.len(), &allowed)?;
            answer_without_session(&state, &caller, &frontend.via, messages).await?
        }
    };
    let disclosure = body.stream.then(|| state.disclosure(&caller.access.agent));
    let names = names(&state, &caller.access, &caller.owner)?;
    answer(&state, open, turn, names, disclosure).await
}

/// The caller's session; `None`: the caller does not own it.
async fn find_session(state: &HttpState, caller: &Caller, id: &str) -> Result<Option<OwnedChat>, HttpProblem> {
    match find_latest_chat(state, caller, id).await {
        Ok(session) => Ok(Some(session)),
        Err(problem) if problem.code == Reason::ConversationNotFound.as_str() => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// Sends a text to the session, with an empty turn.
async fn start_in_session(
    state: &HttpState,
    session: OwnedChat,
    text: String,
    mut turn: Turn,
) -> Result<ActiveTurn, HttpProblem> {
    let session = finish_closed_run(state, session).await?;
    // A retry with a key finds its first attempt by the key.
    let failed = match turn.key {
        Some(_) => None,
        None => failed_message_version(state, &session, &text).await?,
    };
    match failed {
        Some(version) => {
            turn.expected_version = Some(session.conversation.head.version);
            turn.rewind("message", version);
        }
        None => turn.add_user_message("message", vec![Part::Text(text)]),
    }
    let started = turn::start(state, &session, turn).await?;
    follow(state, &session.target.key, started).await
}

async fn follow(state: &HttpState, session: &ConversationKey, started: StartedRun) -> Result<ActiveTurn, HttpProblem> {
    let parts = state.generations.follow(session, started.run, 1).await;
    Ok(ActiveTurn {
        stored: Some((session.clone(), started.run)),
        ui: started.ui,
        parts: parts.map_err(problem::from_problem)?.boxed(),
    })
}

async fn answer_without_session(
    state: &HttpState,
    caller: &Caller,
    via: &RequestSource,
    messages: Vec<MessageAppended>,
) -> Result<ActiveTurn, HttpProblem> {
    let account = Account::of(&caller.access, Some(&caller.owner), via);
    let parts = state.generations.answer_stateless(account, StatelessTurn::of_messages(messages)).await;
    Ok(ActiveTurn {
        stored: None,
        ui: UiStream::new(RunId(Uuid::now_v7()), None, Approvals::default()),
        parts: parts.map_err(problem::from_problem)?,
    })
}

/// Answers as a stream of what `disclosure` shows; `None`: with the complete text.
async fn answer(
    state: &HttpState,
    open: StreamSlot,
    turn: ActiveTurn,
    names: Names,
    disclosure: Option<Disclosure>,
) -> Result<Response, HttpProblem> {
    let ActiveTurn { stored, ui, parts } = turn;
    let run = stored.as_ref().map(|(_, run)| *run);
    if let Some(disclosure) = disclosure {
        let stream = AnswerStream {
            run,
            parts,
            finished: match &stored {
                Some((session, run)) => state.wait_until_finished(session, *run),
                None => Box::pin(std::future::ready(())),
            },
            disclosure,
            opening: vec![ui.start_chunk()],
            ui,
            after: 0,
        };
        return Ok(stream.respond(open));
    }
    let draining = open.drain();
    let (generations, gateway) = (state.generations.clone(), state.gateway.clone());
    let answering = async move {
        let reply = collect_reply(parts, run, draining).await?;
        if let Some((session, run)) = &stored {
            // A caller that has the answer can read it in the session.
            if let Some(position) = generations.wait_for_finish(session, *run).await {
                let token = position.token(&gateway.reader.archive, session).await;
                let unlocated = |error| problem::from_problem(conversations::problem::of_record(&error));
                let token = token.map_err(unlocated)?;
                positions::record_write(&token.encode());
            }
        }
        Ok(answer_body(reply, stored, &names))
    };
    let late = |problem: &HttpProblem| json!({"error": {"code": problem.code, "detail": problem.detail}});
    delayed_answer::respond(state, open, answering, late).await
}

fn answer_body(reply: Reply, stored: Option<(ConversationKey, RunId)>, names: &Names) -> AnswerBody {
    let shown = |session: ConversationKey| names.shown(session.conversation.as_str()).to_owned();
    let (session_id, run_id) = stored.map(|(session, run)| (shown(session), run.to_string())).unzip();
    AnswerBody { response: reply.text, session_id, run_id, usage: TurnUsageBody::from(&reply.usage) }
}

impl From<&Usage> for TurnUsageBody {
    fn from(usage: &Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cached_tokens: usage.cached_tokens,
        }
    }
}
