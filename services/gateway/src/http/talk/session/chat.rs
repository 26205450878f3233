//! `POST /v1/chat`: one turn, with the history of a session or with none.

use axum::extract::State;
use axum::response::Response;
use domain::event::MessageAppended;
use domain::{ConversationKey, Part, RunId};
use futures::StreamExt as _;
use futures::stream::BoxStream;
use runs::{Approvals, UiStream};
use runtime::http::{HttpProblem, Json, OpenStream};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;
use wire::status::Reason;

use super::{failed_turn, given, history, patient};
use crate::generation::Followed;
use crate::http::frontend::{CallerHeaders, Frontend, Named};
use crate::http::idempotency::IdempotencyKey;
use crate::http::owned_chat::{Owned, owned_latest};
use crate::http::state::HttpState;
use crate::http::talk::listener::{Listener, StreamedEvent};
use crate::http::talk::reply::{Reply, gather};
use crate::http::talk::roles::AllowedRoles;
use crate::http::talk::settled::settled;
use crate::http::talk::turn::{self, Begun, Turn};
use crate::http::{positions, problem};
use crate::identity::Caller;
use crate::quotas::account::{Account, Via};

/// One turn.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TurnBody {
    /// What the user says.
    #[schema(example = "What did I ask before?")]
    message: Option<String>,
    /// The session: its history is read, and the turn is kept in it. Without one, or with one that is not the caller's, the
    /// turn stands alone and nothing is kept.
    session_id: Option<String>,
    /// The whole history, instead of the session's: the model reads it as given, `message` last. Roles but `user` are
    /// rejected unless the agent's settings allow them, or the session has the message. In a session, what is new
    /// of it is kept when the answer begins; 409 `VERSION_CONFLICT` where somebody else speaks in the session meanwhile.
    messages: Option<Vec<given::GivenMessage>>,
    /// Whether to answer with a stream of server-sent events, as `POST /api/chats/{id}/messages` does.
    #[serde(default)]
    stream: bool,
}

/// The answer of one turn.
#[derive(Debug, Serialize, ToSchema)]
pub struct AnswerBody {
    /// What the model says.
    #[schema(example = "echo: What did I ask before?")]
    response: String,
    /// The session that it is kept in; null: it is kept nowhere.
    session_id: Option<String>,
    /// The run that made it, where it is kept by a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<String>,
    /// What it took.
    usage: TurnUsageBody,
}

/// Tokens.
#[derive(Debug, Serialize, ToSchema)]
#[expect(clippy::struct_field_names, reason = "the names that callers read")]
pub struct TurnUsageBody {
    /// Those that the model read.
    input_tokens: u64,
    /// Those that it wrote.
    output_tokens: u64,
    /// Those of the read ones that came from its cache.
    cached_tokens: u64,
}

/// A turn under way.
struct Answering {
    /// The session, and the run that is kept in it.
    kept: Option<(ConversationKey, RunId)>,
    ui: UiStream,
    parts: BoxStream<'static, Followed>,
}

/// One turn, with the history of a session or with none.
///
/// The caller must be identified, with a session or without. The answer comes as a whole, or as a stream. Where it takes long, the answer begins with white space while it is made, and a
/// failure after that is told as `{"error": {code, detail}}`.
#[utoipa::path(
    post,
    path = "/v1/chat",
    tag = "chat",
    params(CallerHeaders, ("idempotency-key" = Option<String>, Header, description = "A UUID that names this request for all of its retries; for turns that are kept.")),
    request_body = TurnBody,
    responses((status = 200, description = "The answer, whole or as it is made.", content(
        (AnswerBody = "application/json"),
        (StreamedEvent = "text/event-stream"),
    ))),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn chat(
    State(state): State<HttpState>,
    open: OpenStream,
    frontend: Frontend,
    key: IdempotencyKey,
    Json(body): Json<TurnBody>,
) -> Result<Response, HttpProblem> {
    let caller = frontend.caller(&state, Named::default()).await?;
    let session = match &body.session_id {
        Some(id) => session(&state, &caller, id).await?,
        None => None,
    };
    let allowed = AllowedRoles::of(&state, &caller.access.agent);
    let said = given::messages(body.message, body.messages, &allowed)?;
    let answering = match (session, said) {
        (Some(session), given::Said::Message(text)) => {
            let mut turn = Turn::default();
            turn.key = key.0;
            turn.via = frontend.via.clone();
            Box::pin(in_session(&state, session, text, turn)).await?
        }
        (Some(session), given::Said::History(messages)) => {
            let kept_in = session.target.key.clone();
            let given = history::Given {
                messages,
                allowed,
                via: frontend.via.clone(),
            };
            let begun = Box::pin(history::begin(&state, session, given, key)).await?;
            followed(&state, &kept_in, begun).await?
        }
        (None, said) => {
            let messages = said.into_messages();
            given::check_assistant(&messages, 0..messages.len(), &allowed)?;
            alone(&state, &caller, &frontend.via, messages).await?
        }
    };
    answer(&state, open, answering, body.stream).await
}

/// The caller's session; `None`: it is none of theirs.
async fn session(
    state: &HttpState,
    caller: &Caller,
    id: &str,
) -> Result<Option<Owned>, HttpProblem> {
    match owned_latest(state, caller, id).await {
        Ok(session) => Ok(Some(session)),
        Err(problem) if problem.code == Reason::ConversationNotFound.as_str() => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// Says a text in the session, by a turn that says nothing yet.
async fn in_session(
    state: &HttpState,
    session: Owned,
    text: String,
    mut turn: Turn,
) -> Result<Answering, HttpProblem> {
    let session = settled(state, session).await?;
    // A retry under a key finds its first try by that.
    let failed = match turn.key {
        Some(_) => None,
        None => failed_turn::said_before(state, &session, &text).await?,
    };
    match failed {
        Some(behind) => {
            turn.behind = Some(session.conversation.head.version);
            turn.rewind("message", behind);
        }
        None => turn.say("message", vec![Part::Text(text)]),
    }
    let begun = turn::begin(state, &session, turn).await?;
    followed(state, &session.target.key, begun).await
}

async fn followed(
    state: &HttpState,
    session: &ConversationKey,
    begun: Begun,
) -> Result<Answering, HttpProblem> {
    let parts = state.generations.follow(session, begun.run, 1).await;
    Ok(Answering {
        kept: Some((session.clone(), begun.run)),
        ui: begun.ui,
        parts: parts.map_err(problem::of)?.boxed(),
    })
}

async fn alone(
    state: &HttpState,
    caller: &Caller,
    via: &Via,
    messages: Vec<MessageAppended>,
) -> Result<Answering, HttpProblem> {
    let account = Account::of(&caller.access, Some(&caller.owner), via);
    let parts = state.generations.answer_alone(account, messages).await;
    Ok(Answering {
        kept: None,
        ui: UiStream::new(RunId(Uuid::now_v7()), None, Approvals::default()),
        parts: parts.map_err(problem::of)?,
    })
}

async fn answer(
    state: &HttpState,
    open: OpenStream,
    answering: Answering,
    is_streamed: bool,
) -> Result<Response, HttpProblem> {
    let Answering { kept, ui, parts } = answering;
    let run = kept.as_ref().map(|(_, run)| *run);
    if is_streamed {
        let listener = Listener {
            run,
            parts,
            finished: match &kept {
                Some((session, run)) => state.finished(session, *run),
                None => Box::pin(std::future::ready(())),
            },
            opening: vec![ui.opening()],
            ui,
            after: 0,
        };
        return Ok(listener.respond(open));
    }
    let draining = open.draining();
    let (generations, gateway) = (state.generations.clone(), state.gateway.clone());
    let answering = async move {
        let reply = gather(parts, run, draining).await?;
        if let Some((session, run)) = &kept {
            // Who has the answer finds it among the session's messages.
            if let Some(place) = generations.wait_for_finish(session, *run).await {
                positions::wrote(&place.token(&gateway.reader, session));
            }
        }
        Ok(answer_body(reply, kept))
    };
    patient::respond(state, open, answering).await
}

fn answer_body(reply: Reply, kept: Option<(ConversationKey, RunId)>) -> AnswerBody {
    let (session_id, run_id) = kept
        .map(|(session, run)| (session.conversation.as_str().to_owned(), run.to_string()))
        .unzip();
    AnswerBody {
        response: reply.text,
        session_id,
        run_id,
        usage: TurnUsageBody {
            input_tokens: reply.usage.input_tokens,
            output_tokens: reply.usage.output_tokens,
            cached_tokens: reply.usage.cached_tokens,
        },
    }
}
