//! Creates a conversation.

use domain::bounds::{CREATE_EVENTS_MAX, CREATE_RUN_EVENTS_MAX, TITLE_BYTES_MAX};
use domain::event::ConversationCreated;
use domain::{Action, AgentId, Command, ConversationId, Create, Expectation, NewEvent, Violation, ViolationReason};
use prost::Message as _;
use registry::Scope;
use wire::conversation::{client_context_from_proto, fork_point_from_proto, owner_from_proto};
use wire::optional::{label, metadata, text};
use wire::proto::event::v1::Event;
use wire::proto::write::v1::{CommitResult, CreateConversationRequest};

use super::append_events::converted;
use super::runs::run_started;
use super::{Problem, Request, Writer, commit_in_turn};
use crate::request::{Caller, conversation_id, conversation_key, digest, idempotency_key};
use crate::token_count::count_tokens;
use crate::{Intent, document_rules};

pub(super) async fn handle(
    writer: &Writer,
    request: Request<CreateConversationRequest>,
) -> Result<CommitResult, Problem> {
    let caller = Caller::from_metadata(request.metadata());
    let intent = intent_of(writer, &caller, request.into_inner()).await?;
    commit_in_turn(writer, intent).await
}

/// The intent of a request, unary or from a stream.
pub(super) async fn intent_of(
    writer: &Writer,
    caller: &Caller,
    mut request: CreateConversationRequest,
) -> Result<Intent, Problem> {
    let request_digest = digest(&request);
    let agent = caller.agent(writer, &request.agent_id).await?;
    let key = idempotency_key(&request.idempotency_key)?;
    let commit = key.unwrap_or_else(Writer::new_commit_id);
    // Without an id, the commit id is used, so that a retry finds the conversation of the first attempt.
    let conversation = match request.conversation_id.as_str() {
        "" => ConversationId::parse(commit.to_string()).map_err(|violation| violation.within("conversation_id"))?,
        id => conversation_id(id)?,
    };
    let occurred_at = request
        .occurred_at
        .map(wire::time::from_proto)
        .transpose()
        .map_err(|violation| violation.within("occurred_at"))?;
    let fork_from = request
        .forked_from
        .take()
        .map(fork_point_from_proto)
        .transpose()
        .map_err(|violation| violation.within("forked_from"))?;
    let bytes = request.encoded_len();
    let run = request.run.take().map(run_started).transpose().map_err(|violation| violation.within("run"))?;
    let most = if run.is_some() { CREATE_RUN_EVENTS_MAX } else { CREATE_EVENTS_MAX };
    let events = new_events(std::mem::take(&mut request.events), most)?;
    document_rules::check(&conversation, &events).map_err(|violation| violation.within("events"))?;
    if run.is_some() {
        document_rules::check_no_document(&conversation).map_err(|violation| violation.within("run"))?;
    }
    let created = created(request, agent.clone())?;
    created.owner.check_id(&conversation).map_err(|violation| violation.within("conversation_id"))?;
    check_no_audit_log(&conversation).map_err(|violation| violation.within("conversation_id"))?;
    let access = caller.authorize(writer, Scope::Append, &agent, "agent_id").await?;
    let mut intent = Intent {
        key: conversation_key(&access, conversation),
        access,
        has_key: key.is_some(),
        key_field: "idempotency_key",
        request_digest,
        attempt: None,
        command: Command {
            commit,
            agent,
            expectation: Expectation::Any,
            action: Action::Create(Box::new(Create { created, occurred_at, events, run })),
        },
        fork_from,
    };
    count_tokens(writer, &mut intent, bytes).await?;
    Ok(intent)
}

/// The events after the creation, at most `most`, without their token counts.
fn new_events(events: Vec<Event>, most: usize) -> Result<Vec<NewEvent>, Violation> {
    let count = events.len();
    if count > most {
        let rule = format!(
            "has {count} events, one commit has at most {most} besides the creation and the start of a run: append several commits"
        );
        let violation = Violation::new(ViolationReason::TooManyEvents, rule);
        return Err(violation.within("events"));
    }
    converted(events)
}

/// The writer itself creates audit logs.
fn check_no_audit_log(id: &ConversationId) -> Result<(), Violation> {
    if !id.is_audit_log() {
        return Ok(());
    }
    let prefix = ConversationId::AUDIT_PREFIX;
    let rule = format!("begins with `{prefix}`, which is reserved: choose another id");
    Err(Violation::new(ViolationReason::Reserved, rule))
}

fn created(request: CreateConversationRequest, agent: AgentId) -> Result<ConversationCreated, Violation> {
    Ok(ConversationCreated {
        agent,
        owner: owner_from_proto(request.owner).map_err(|violation| violation.within("owner"))?,
        title: text(request.title, TITLE_BYTES_MAX, "title")?,
        metadata: metadata(request.metadata_json, "metadata_json")?,
        client_context: client_context_from_proto(request.client_context)
            .map_err(|violation| violation.within("client_context"))?,
        provider_conversation_id: label(request.provider_conversation_id, "provider_conversation_id")?,
        forked_from: None,
    })
}

#[cfg(test)]
mod tests {
    use wire::proto::event::v1::{SystemNoted, event::Fact};

    use super::*;

    #[test]
    fn callers_create_no_audit_logs() {
        let check = |id: &str, expected: bool| {
            let checked = check_no_audit_log(&ConversationId::parse(id).unwrap());
            assert_eq!(checked.is_ok(), expected, "{id}");
        };
        check("history:audit:2026-11", false);
        check("history:audit:", false);
        check("history:audit", true);
        check("audit", true);
    }

    #[test]
    fn a_creation_has_a_bounded_number_of_events() {
        let noted = SystemNoted { text: "note".to_owned(), ..SystemNoted::default() };
        let note = Event { fact: Some(Fact::SystemNoted(noted)), ..Event::default() };
        for (most, run_events) in [(CREATE_EVENTS_MAX, 1), (CREATE_RUN_EVENTS_MAX, 2)] {
            // A commit has at most 500 events.
            assert_eq!(most, 500 - run_events);
            assert_eq!(new_events(vec![note.clone(); most], most).unwrap().len(), most);
            let violation = new_events(vec![note.clone(); most + 1], most).unwrap_err();
            assert_eq!(violation.reason, ViolationReason::TooManyEvents);
        }
        assert!(new_events(Vec::new(), CREATE_EVENTS_MAX).unwrap().is_empty());
    }
}
