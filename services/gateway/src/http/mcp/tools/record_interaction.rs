//! `record_interaction`: a user's message and the assistant's answer, in one commit.

use conversations::end_user::{EndUser, IdOrigin};
use domain::event::{Fact, MessageAppended, Role};
use domain::{CommitId, ConversationId, Part, ViolationReason};
use http_listener::idempotency::IdempotencyKey;
use rmcp::model::Tool;
use rmcp::schemars::JsonSchema;
use runtime::http::HttpProblem;
use serde::{Deserialize, Serialize};
use uuid::Uuid;
use wire::proto::event::v1 as event;
use wire::proto::write::v1::{AppendEventsRequest, CommitResult};
use wire::status::{Problem, Reason};

use super::new_conversation::{read_only, recorded_at};
use super::{ToolContext, ToolName, adds, define};
use crate::http::mcp::caller::McpCaller;
use crate::http::mcp::failure::Failure;
use crate::http::mcp::objects::MessageObject;
use crate::http::mcp::time::iso8601;
use conversations::back_end_request::BackEndRequest;
use conversations::commands::Issuer;
use conversations::open::find_latest_chat;
use conversations::problem::not_found;
use conversations::turns::permissions::AllowedRoles;

/// The arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The conversation, from `create_conversation` or `list_conversations`.
    conversation_id: String,
    /// The user who owns the conversation; another owner's is not found. A back end needs it if the id is no UUID: a frontend may
    /// have chosen it.
    user_id: Option<String>,
    /// What the user wrote; not empty, less than 512 KiB.
    #[schemars(length(min = 1))]
    user_message: String,
    /// What the assistant answered; not empty, less than 512 KiB.
    #[schemars(length(min = 1))]
    assistant_response: String,
    /// Metadata of both messages: the text of a JSON object, at most 64 KiB, such as {"model": "small", "tokens": 150}.
    metadata: Option<String>,
    /// A new UUID for each interaction. A call that is repeated with the same key records nothing again and returns the first
    /// result.
    #[schemars(extend("format" = "uuid"))]
    idempotency_key: Option<String>,
}

/// The recorded messages.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct Interaction {
    /// The conversation.
    conversation_id: String,
    /// The user's message.
    user_message: MessageObject,
    /// The assistant's message.
    assistant_message: MessageObject,
    /// When both were recorded; ISO 8601.
    recorded_at: String,
}

pub(super) fn definition() -> Tool {
    define::<Arguments, Interaction>(
        ToolName::RecordInteraction,
        "Record interaction",
        "Records a user's message and the assistant's answer at the end of a conversation: both or neither. Call it once at the end \
         of each request. Calling it again records the messages again, unless both calls have the same idempotency_key.",
        adds(),
    )
}

pub(super) async fn call(context: ToolContext<'_>, arguments: Arguments) -> Result<Interaction, Failure> {
    check_text("user_message", &arguments.user_message)?;
    check_text("assistant_response", &arguments.assistant_response)?;
    let metadata = arguments.metadata.filter(|text| !text.is_empty());
    let key = idempotency_key(arguments.idempotency_key.as_deref())?;
    let message = |role, text| message(event_id(key, role), role, text, metadata.as_deref());
    let user = message(Role::User, arguments.user_message);
    let assistant = message(Role::Assistant, arguments.assistant_response);
    let id = arguments.conversation_id;
    let end_user = arguments.user_id.filter(|user| !user.is_empty());
    let end_user = EndUser::default().or_of_body(&[("user_id", end_user.as_deref())])?;
    let events = vec![user.0, assistant.0];
    let commit = append(context, &end_user, &id, key, events)
        .await
        .map_err(|problem| Failure::of(with_argument(problem), &id))?;
    let recorded_at = iso8601(recorded_at(&commit)?);
    let recorded = |message: MessageObject| MessageObject {
        conversation_id: id.clone(),
        created_at: recorded_at.clone(),
        ..message
    };
    Ok(Interaction {
        user_message: recorded(user.1),
        assistant_message: recorded(assistant.1),
        conversation_id: id.clone(),
        recorded_at: recorded_at.clone(),
    })
}

async fn append(
    context: ToolContext<'_>,
    end_user: &EndUser,
    id: &str,
    key: IdempotencyKey,
    events: Vec<event::Event>,
) -> Result<CommitResult, Problem> {
    let state = context.state;
    match context.caller {
        McpCaller::Service(service) => {
            let request = BackEndRequest { conversations: state, back_end: service, end_user };
            let conversation = ConversationId::parse(id).map_err(|_| not_found())?;
            let origin = id_origin(&conversation);
            let destination = request.destination(conversation, origin).await?;
            request.send(destination.append(key.0, events)).await
        }
        McpCaller::User(caller) => {
            let chat = find_latest_chat(state, caller, id).await?;
            end_user.check_owner(IdOrigin::Issued, chat.conversation.head.owner.as_ref())?;
            let allowed = AllowedRoles::for_agent(state, &caller.access.agent);
            if !allowed.contains(Role::Assistant) {
                return Err(assistant_not_allowed());
            }
            let target = Some(chat.command_target(key.0));
            let request = AppendEventsRequest { target, events, ..AppendEventsRequest::default() };
            state.commands.send(Issuer::Gateway, request).await
        }
        McpCaller::Admin(_) => Err(read_only()),
    }
}

/// The origin of an id. This API issues UUIDs, and creates no conversation by a chosen id.
fn id_origin(id: &ConversationId) -> IdOrigin {
    if Uuid::try_parse(id.as_str()).is_ok() { IdOrigin::Issued } else { IdOrigin::of(id) }
}

fn idempotency_key(text: Option<&str>) -> Result<IdempotencyKey, HttpProblem> {
    let key = text.filter(|text| !text.is_empty()).map(CommitId::parse).transpose().map_err(|_| {
        let detail = "is not a UUID: send a new UUID for each interaction, or leave it out";
        HttpProblem::of_field("IDEMPOTENCY_KEY_MALFORMED", "idempotency_key", detail)
    })?;
    Ok(IdempotencyKey(key))
}

/// The id of a message's event; with a key, it is the same in every retry.
fn event_id(key: IdempotencyKey, role: Role) -> Uuid {
    let id = key.for_part(role.as_str()).0;
    id.map_or_else(Uuid::now_v7, |CommitId(id)| id)
}

/// An event, and its message in the answer.
fn message(id: Uuid, role: Role, text: String, metadata: Option<&str>) -> (event::Event, MessageObject) {
    let id = id.to_string();
    let shown = MessageObject {
        id: id.clone(),
        conversation_id: String::new(),
        role: role.as_str(),
        content: text.clone(),
        metadata: metadata.map(str::to_owned),
        created_at: String::new(),
    };
    let fact = Fact::MessageAppended(MessageAppended::new(role, vec![Part::Text(text)]));
    let event = event::Event {
        event_id: id,
        metadata_json: metadata.unwrap_or_default().to_owned(),
        ..wire::event::fact_to_proto(&fact)
    };
    (event, shown)
}

fn check_text(field: &'static str, text: &str) -> Result<(), HttpProblem> {
    if text.is_empty() {
        let detail = "is empty: both messages must have content";
        return Err(HttpProblem::of_field(ViolationReason::Missing, field, detail));
    }
    Ok(())
}

/// Replaces the writer's path of an event's field by the argument.
fn with_argument(problem: Problem) -> Problem {
    problem.rename_field(|field| {
        let argument = match field.entry_of("events") {
            Some((_, within)) if within == "metadata_json" => "metadata",
            Some((0, _)) => "user_message",
            Some((1, _)) => "assistant_response",
            None if field == "target.idempotency_key" => "idempotency_key",
            Some(_) | None => return None,
        };
        Some(argument.into())
    })
}

fn assistant_not_allowed() -> Problem {
    let detail = "a user's token may not record what the assistant answered: allow the role assistant in the agent's settings, or use a service token";
    Problem::new(Reason::RoleNotAllowed, detail)
}
