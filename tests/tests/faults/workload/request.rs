//! The request of a command: the same bytes at every try, today and after a restart.

use std::time::Duration;

use domain::{Fact, FieldChange, JsonText, Label, NewEvent};
use prost_types::FieldMask;
use tests::client::Writer;
use tonic::{IntoRequest, Request as Call, Response, Status};
use wire::proto::event::v1 as event;
use wire::proto::write::v1 as write;
use wire::proto::write::v1::append_stream_request::Command;

use super::journal::Pending;

/// The deadline of one try, past the record's own of 3 s, so that the writer tells what it knows.
const TRY_TIMEOUT: Duration = Duration::from_secs(5);

/// A command as it travels.
#[derive(Debug, Clone)]
pub(crate) enum Request {
    Create(Box<write::CreateConversationRequest>),
    Append(write::AppendEventsRequest),
    Update(Box<write::UpdateConversationRequest>),
    Archive(write::CommandTarget),
    Restore(write::CommandTarget),
    Erase(write::CommandTarget),
    ChangeOwner(write::ChangeOwnerRequest),
}

impl Request {
    /// The request that asks for what is pending.
    pub(crate) fn of(pending: &Pending, agent: &str) -> Self {
        let asked = &pending.asked;
        let target = write::CommandTarget {
            agent_id: agent.to_owned(),
            conversation_id: pending.conversation.conversation.as_str().to_owned(),
            idempotency_key: pending.key.to_string(),
            expected_version: asked.expected.map(|version| version.0),
        };
        match &asked.events[0].fact {
            Fact::ConversationCreated(_) => {
                Self::Create(Box::new(create(&asked.events[0].fact, target)))
            }
            Fact::ConversationUpdated(_) => {
                Self::Update(Box::new(update(&asked.events[0].fact, target)))
            }
            Fact::ConversationArchived => Self::Archive(target),
            Fact::ConversationRestored => Self::Restore(target),
            Fact::ConversationErased => Self::Erase(target),
            Fact::OwnerChanged(changed) => Self::ChangeOwner(write::ChangeOwnerRequest {
                target: Some(target),
                owner: Some(wire::conversation::owner_to_proto(&changed.owner)),
                expected_owner: None,
            }),
            Fact::RunStarted(_) | Fact::RunStopRequested(_) | Fact::RunFinished(_) => {
                panic!("runs are no commands of the write service")
            }
            Fact::MessageAppended(_)
            | Fact::ToolCalled(_)
            | Fact::ToolReturned(_)
            | Fact::SystemNoted(_)
            | Fact::ErrorOccurred(_)
            | Fact::HistorySummarised(_) => Self::Append(write::AppendEventsRequest {
                target: Some(target),
                events: asked.events.iter().map(event_of).collect(),
            }),
        }
    }

    /// The request as a command of a stream; `None` for one that streams do not take.
    pub(crate) fn command(self) -> Option<Command> {
        match self {
            Self::Create(request) => Some(Command::CreateConversation(*request)),
            Self::Append(request) => Some(Command::AppendEvents(request)),
            Self::Update(_)
            | Self::Archive(_)
            | Self::Restore(_)
            | Self::Erase(_)
            | Self::ChangeOwner(_) => None,
        }
    }

    /// Sends it once, by itself.
    pub(crate) async fn send(self, mut to: Writer) -> Result<write::CommitResult, Status> {
        let result = match self {
            Self::Create(request) => answer(to.create_conversation(timed(*request)).await)?.result,
            Self::Append(request) => answer(to.append_events(timed(request)).await)?.result,
            Self::ChangeOwner(request) => answer(to.change_owner(timed(request)).await)?.result,
            Self::Update(request) => answer(to.update_conversation(timed(*request)).await)?.result,
            Self::Archive(target) => {
                let request = write::ArchiveConversationRequest {
                    target: Some(target),
                };
                answer(to.archive_conversation(timed(request)).await)?.result
            }
            Self::Restore(target) => {
                let request = write::RestoreConversationRequest {
                    target: Some(target),
                };
                answer(to.restore_conversation(timed(request)).await)?.result
            }
            Self::Erase(target) => {
                let request = write::EraseConversationRequest {
                    target: Some(target),
                };
                answer(to.erase_conversation(timed(request)).await)?.result
            }
        };
        Ok(result.expect("a result in every answer"))
    }
}

fn answer<T>(outcome: Result<Response<T>, Status>) -> Result<T, Status> {
    outcome.map(Response::into_inner)
}

fn timed<T>(message: T) -> Call<T> {
    let mut call = message.into_request();
    call.set_timeout(TRY_TIMEOUT);
    call
}

/// The wire form of an event whose id the writer is to derive, unless it has one.
fn event_of(new: &NewEvent) -> event::Event {
    let whole = domain::Event {
        id: new.id.unwrap_or(domain::EventId(uuid::Uuid::nil())),
        occurred_at: new.occurred_at,
        metadata: new.metadata.clone(),
        tokens: domain::EventTokens::default(),
        fact: new.fact.clone(),
    };
    let mut event = wire::event::to_proto(&whole);
    if new.id.is_none() {
        event.event_id.clear();
    }
    event
}

fn create(fact: &Fact, target: write::CommandTarget) -> write::CreateConversationRequest {
    let Fact::ConversationCreated(created) = fact else {
        panic!("another fact")
    };
    write::CreateConversationRequest {
        agent_id: target.agent_id,
        conversation_id: target.conversation_id,
        idempotency_key: target.idempotency_key,
        owner: Some(wire::conversation::owner_to_proto(&created.owner)),
        title: created.title.clone().unwrap_or_default(),
        metadata_json: text(created.metadata.as_ref()),
        client_context: Some(wire::conversation::client_context_to_proto(
            &created.client_context,
        )),
        provider_conversation_id: label(created.provider_conversation_id.as_ref()),
        ..write::CreateConversationRequest::default()
    }
}

fn update(fact: &Fact, target: write::CommandTarget) -> write::UpdateConversationRequest {
    let Fact::ConversationUpdated(updated) = fact else {
        panic!("another fact")
    };
    let title = updated.title.clone().map(FieldChange::into_value);
    let metadata = updated.metadata.clone().map(FieldChange::into_value);
    let provider = updated
        .provider_conversation_id
        .clone()
        .map(FieldChange::into_value);
    let response = updated
        .last_response_id
        .clone()
        .map(FieldChange::into_value);
    let paths = [
        ("title", title.is_some()),
        ("metadata_json", metadata.is_some()),
        ("provider_conversation_id", provider.is_some()),
        ("last_response_id", response.is_some()),
    ];
    let named = paths.into_iter().filter(|(_, changes)| *changes);
    write::UpdateConversationRequest {
        target: Some(target),
        update_mask: Some(FieldMask {
            paths: named.map(|(path, _)| path.to_owned()).collect(),
        }),
        title: title.flatten().unwrap_or_default(),
        metadata_json: text(metadata.flatten().as_ref()),
        provider_conversation_id: label(provider.flatten().as_ref()),
        last_response_id: label(response.flatten().as_ref()),
    }
}

fn text(json: Option<&JsonText>) -> String {
    json.map(|json| json.as_str().to_owned())
        .unwrap_or_default()
}

fn label(label: Option<&Label>) -> String {
    label
        .map(|label| label.as_str().to_owned())
        .unwrap_or_default()
}
