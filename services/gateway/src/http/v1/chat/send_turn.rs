//! `POST /v1/chat`: one turn, with the history of a session or without.

use axum::extract::State;
use axum::response::Response;
use domain::event::{MessageAppended, Usage};
use domain::{Fact, Part, RunId};
use http_listener::callers::frontend::Frontend;
use http_listener::callers::headers::{CallerHeaders, CallerIds};
use http_listener::idempotency::IdempotencyKey;
use http_listener::state::HttpState;
use runs::{Approvals, UiStream};
use runtime::http::{HttpProblem, Json, StreamSlot};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;
use uuid::Uuid;
use wire::status::Reason;

use super::turn_messages::{self, TurnMessages};
use crate::http::turns::delivery::{self, FailureDetail, WholeForm};
use crate::http::turns::ui_answer::{StreamedEvent, UiAnswer};
use api_json::content::texts;
use conversations::answer::{Answer, WholeAnswer};
use conversations::identity::Caller;
use conversations::names::names;
use conversations::open::{OwnedChat, find_settled_chat};
use conversations::quotas::account::{Account, RequestSource};
use conversations::turns::StatelessTurn;
use conversations::turns::given_history::{self, GivenHistory};
use conversations::turns::last_turn::failed_message_version;
use conversations::turns::permissions::{AllowedRoles, check_roles};
use conversations::turns::start_turn::{StartedTurn, start_turn};
use conversations::turns::turn::Turn;

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
    let (answer, ui) = match (session, messages) {
        (Some(session), TurnMessages::Message(text)) => {
            let mut turn = Turn::default();
            turn.key = key.0;
            turn.via = frontend.via.clone();
            Box::pin(start_in_session(&state, session, text, turn)).await?
        }
        (Some(session), TurnMessages::History(messages)) => {
            let given = GivenHistory { messages, allowed, via: frontend.via.clone(), key: key.0 };
            let started = Box::pin(given_history::start(&state, &session, given)).await?;
            follow(&state, &session, started).await?
        }
        (None, messages) => {
            let messages = messages.into_messages();
            check_roles(&messages, 0..messages.len(), &allowed)?;
            answer_without_session(&state, &caller, &frontend.via, messages).await?
        }
    };
    if body.stream {
        return Ok(UiAnswer::whole(ui, state.disclosure(&caller.access.agent)).respond(answer, open));
    }
    let names = names(&state, &caller.access, &caller.owner)?;
    let stored = answer.recorded_in().map(|(session, run)| {
        let session = names.shown(session.conversation.as_str()).to_owned();
        (session, run.to_string())
    });
    let form = WholeForm {
        body: |answer| answer_body(&answer, stored),
        detail: FailureDetail::Type,
        late: |problem| json!({"error": {"code": problem.code, "detail": problem.detail}}),
    };
    delivery::whole(&state, open, answer, form).await
}

/// The caller's session; `None`: the caller does not own it.
async fn find_session(state: &HttpState, caller: &Caller, id: &str) -> Result<Option<OwnedChat>, HttpProblem> {
    match find_settled_chat(state, caller, id).await {
        Ok(session) => Ok(Some(session)),
        Err(problem) if problem.reason() == Reason::ConversationNotFound => Ok(None),
        Err(problem) => Err(problem.into()),
    }
}

/// Sends a text to the session, with an empty turn.
async fn start_in_session(
    state: &HttpState,
    session: OwnedChat,
    text: String,
    mut turn: Turn,
) -> Result<(Answer, UiStream), HttpProblem> {
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
    let started = start_turn(state, &session, turn).await?;
    follow(state, &session, started).await
}

/// The answer of a run in a session.
async fn follow(
    state: &HttpState,
    session: &OwnedChat,
    started: StartedTurn,
) -> Result<(Answer, UiStream), HttpProblem> {
    let answer = state.answer(&session.target.key, started.run).await;
    Ok((answer?, started.ui))
}

async fn answer_without_session(
    state: &HttpState,
    caller: &Caller,
    via: &RequestSource,
    messages: Vec<MessageAppended>,
) -> Result<(Answer, UiStream), HttpProblem> {
    let account = Account::of(&caller.access, Some(&caller.owner), via);
    let answer = state.answer_stateless(account, StatelessTurn::of_messages(messages)).await?;
    let ui = UiStream::new(RunId(Uuid::now_v7()), None, Approvals::default());
    Ok((answer, ui))
}

/// The texts of the model, one line per step.
fn answer_body(answer: &WholeAnswer, stored: Option<(String, String)>) -> AnswerBody {
    let messages = answer.facts.iter().filter_map(|fact| match fact {
        Fact::MessageAppended(message) => Some(message),
        Fact::ToolCalled(_) | Fact::ToolReturned(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => None,
    });
    let lines: Vec<_> = messages.flat_map(|message| texts(&message.parts)).collect();
    let (session_id, run_id) = stored.unzip();
    let usage = Usage::reported(&answer.facts).unwrap_or_default();
    AnswerBody { response: lines.join("\n"), session_id, run_id, usage: TurnUsageBody::from(&usage) }
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
