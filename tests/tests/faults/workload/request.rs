//! The request of a command: the same bytes for every try, also after a restart.

use std::time::Duration;

use domain::event::{ConversationCreated, ConversationUpdated};
use domain::{Fact, FieldChange, JsonText, Label, Lifecycle, NewEvent};
use prost_types::FieldMask;
use tests::client::Caller;
use tonic::{IntoRequest, Request as Call, Response, Status};
use wire::proto::event::v1 as event;
use wire::proto::run::v1 as run;
use wire::proto::write::v1 as write;
use wire::proto::write::v1::append_stream_request::Command;

use super::journal::Pending;

/// The deadline of one try, longer than the record's 3 s, so that the writer can answer.
const TRY_TIMEOUT: Duration = Duration::from_secs(5);

/// A request of a command.
#[derive(Debug, Clone)]
pub(crate) enum Request {
    Create(Box<write::CreateConversationRequest>),
    Append(write::AppendEventsRequest),
    Update(Box<write::UpdateConversationRequest>),
    Archive(write::CommandTarget),
    Restore(write::CommandTarget),
    Erase(write::CommandTarget),
    ChangeOwner(write::ChangeOwnerRequest),
    StartRun(run::StartRunRequest),
    StopRun(run::StopRunRequest),
    FinishRun(run::FinishRunRequest),
}

impl Request {
    /// The request of a pending command.
    #[expect(clippy::wildcard_enum_match_arm, reason = "a run's own fact is the last of its commit")]
    pub(crate) fn of(pending: &Pending, agent: &str) -> Self {
        let asked = &pending.asked;
        let target = write::CommandTarget {
            agent_id: agent.to_owned(),
            conversation_id: pending.conversation.conversation.as_str().to_owned(),
            idempotency_key: pending.key.to_string(),
            expected_version: asked.expected.map(|version| version.0),
        };
        // A run's own fact follows the facts that are recorded with it.
        let last = asked.events.last().expect("an event");
        if let Some(request) = of_run(&last.fact, &asked.events, &target) {
            return request;
        }
        let Fact::Lifecycle(lifecycle) = &asked.events[0].fact else {
            return Self::Append(write::AppendEventsRequest {
                target: Some(target),
                events: asked.events.iter().map(event_of).collect(),
                ..write::AppendEventsRequest::default()
            });
        };
        match lifecycle {
            Lifecycle::ConversationCreated(created) => Self::Create(Box::new(create(created, target))),
            Lifecycle::ConversationUpdated(updated) => Self::Update(Box::new(update(updated, target))),
            Lifecycle::ConversationArchived => Self::Archive(target),
            Lifecycle::ConversationRestored => Self::Restore(target),
            Lifecycle::ConversationErased => Self::Erase(target),
            Lifecycle::OwnerChanged(changed) => Self::ChangeOwner(write::ChangeOwnerRequest {
                target: Some(target),
                owner: Some(wire::conversation::owner_to_proto(&changed.owner)),
                expected_owner: None,
            }),
            other => panic!("the workload records no {other:?} first"),
        }
    }

    /// The request as a command of a stream; `None` if streams do not accept it.
    pub(crate) fn command(self) -> Option<Command> {
        match self {
            Self::Create(request) => Some(Command::CreateConversation(*request)),
            Self::Append(request) => Some(Command::AppendEvents(request)),
            Self::Update(_)
            | Self::Archive(_)
            | Self::Restore(_)
            | Self::Erase(_)
            | Self::ChangeOwner(_)
            | Self::StartRun(_)
            | Self::StopRun(_)
            | Self::FinishRun(_) => None,
        }
    }

    /// Sends it once as a unary call.
    pub(crate) async fn send(self, caller: &Caller) -> Result<write::CommitResult, Status> {
        let (mut to, mut runs) = (caller.write(), caller.runs());
        let result = match self {
            Self::StartRun(request) => answer(runs.start_run(with_timeout(request)).await)?.result,
            Self::StopRun(request) => answer(runs.stop_run(with_timeout(request)).await)?.result,
            Self::FinishRun(request) => answer(runs.finish_run(with_timeout(request)).await)?.result,
            Self::Create(request) => answer(to.create_conversation(with_timeout(*request)).await)?.result,
            Self::Append(request) => answer(to.append_events(with_timeout(request)).await)?.result,
            Self::ChangeOwner(request) => answer(to.change_owner(with_timeout(request)).await)?.result,
            Self::Update(request) => answer(to.update_conversation(with_timeout(*request)).await)?.result,
            Self::Archive(target) => {
                let request = write::ArchiveConversationRequest { target: Some(target) };
                answer(to.archive_conversation(with_timeout(request)).await)?.result
            }
            Self::Restore(target) => {
                let request = write::RestoreConversationRequest { target: Some(target) };
                answer(to.restore_conversation(with_timeout(request)).await)?.result
            }
            Self::Erase(target) => {
                let request = write::EraseConversationRequest {
                    target: Some(target),
                    expected_owner: None,
                    // Independent of the projector.
                    forks: write::ForkRule::Sever.into(),
                };
                answer(to.erase_conversation(with_timeout(request)).await)?.result
            }
        };
        Ok(result.expect("a result in every answer"))
    }
}

/// The request of a run's own fact with the facts before it; `None` for another fact.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other fact is of another service")]
fn of_run(last: &Fact, events: &[NewEvent], target: &write::CommandTarget) -> Option<Request> {
    let target = Some(target.clone());
    let before = events.len().saturating_sub(1);
    let events = events.iter().take(before).map(event_of).collect();
    Some(match last {
        Fact::Lifecycle(Lifecycle::RunStarted(started)) => Request::StartRun(run::StartRunRequest {
            target,
            run_id: started.run.to_string(),
            events,
            model: label(started.model.as_ref()),
            provider: label(started.provider.as_ref()),
        }),
        Fact::Lifecycle(Lifecycle::RunStopRequested(run)) => {
            Request::StopRun(run::StopRunRequest { target, run_id: run.to_string() })
        }
        Fact::Lifecycle(Lifecycle::RunFinished(finished)) => Request::FinishRun(run::FinishRunRequest {
            target,
            run_id: finished.run.to_string(),
            outcome: wire::event::outcome_to_proto(finished.outcome).into(),
            events,
        }),
        _ => return None,
    })
}

fn answer<T>(outcome: Result<Response<T>, Status>) -> Result<T, Status> {
    outcome.map(Response::into_inner)
}

fn with_timeout<T>(message: T) -> Call<T> {
    let mut call = message.into_request();
    call.set_timeout(TRY_TIMEOUT);
    call
}

/// The wire form of an event; the writer derives the id unless the event has one.
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

fn create(created: &ConversationCreated, target: write::CommandTarget) -> write::CreateConversationRequest {
    write::CreateConversationRequest {
        agent_id: target.agent_id,
        conversation_id: target.conversation_id,
        idempotency_key: target.idempotency_key,
        owner: Some(wire::conversation::owner_to_proto(&created.owner)),
        title: created.title.clone().unwrap_or_default(),
        metadata_json: text(created.metadata.as_ref()),
        client_context: Some(wire::conversation::client_context_to_proto(&created.client_context)),
        provider_conversation_id: label(created.provider_conversation_id.as_ref()),
        ..write::CreateConversationRequest::default()
    }
}

fn update(updated: &ConversationUpdated, target: write::CommandTarget) -> write::UpdateConversationRequest {
    let title = updated.title.clone().map(FieldChange::into_value);
    let metadata = updated.metadata.clone().map(FieldChange::into_value);
    let provider = updated.provider_conversation_id.clone().map(FieldChange::into_value);
    let response = updated.last_response_id.clone().map(FieldChange::into_value);
    let paths = [
        ("title", title.is_some()),
        ("metadata_json", metadata.is_some()),
        ("provider_conversation_id", provider.is_some()),
        ("last_response_id", response.is_some()),
    ];
    let named = paths.into_iter().filter(|(_, changes)| *changes);
    write::UpdateConversationRequest {
        target: Some(target),
        update_mask: Some(FieldMask { paths: named.map(|(path, _)| path.to_owned()).collect() }),
        title: title.flatten().unwrap_or_default(),
        metadata_json: text(metadata.flatten().as_ref()),
        provider_conversation_id: label(provider.flatten().as_ref()),
        last_response_id: label(response.flatten().as_ref()),
    }
}

fn text(json: Option<&JsonText>) -> String {
    json.map(|json| json.as_str().to_owned()).unwrap_or_default()
}

fn label(label: Option<&Label>) -> String {
    label.map(|label| label.as_str().to_owned()).unwrap_or_default()
}
