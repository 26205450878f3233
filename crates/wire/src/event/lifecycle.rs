//! Conversions of lifecycle facts.

use bytes::Bytes;
use domain::bounds::TITLE_BYTES_MAX;
use domain::event::{ConversationCreated, OwnerChanged, RunFinished, RunStarted};
use domain::{AgentId, RunId, RunOutcome, Violation, ViolationReason};

use crate::conversation::{
    client_context_from_proto, client_context_to_proto, fork_point_from_proto, fork_point_to_proto, owner_from_proto,
    owner_to_proto,
};
use crate::head::uuid;
use crate::optional::{json_text, label, label_text, metadata, text};
use crate::proto::event::v1 as proto;

pub(super) fn created_to_proto(created: &ConversationCreated) -> proto::ConversationCreated {
    proto::ConversationCreated {
        agent_id: created.agent.as_str().to_owned(),
        owner: Some(owner_to_proto(&created.owner)),
        title: created.title.clone().unwrap_or_default(),
        metadata_json: json_text(created.metadata.as_ref()),
        client_context: Some(client_context_to_proto(&created.client_context)),
        provider_conversation_id: label_text(created.provider_conversation_id.as_ref()),
        forked_from: created.forked_from.as_ref().map(fork_point_to_proto),
    }
}

pub(super) fn created_from_proto(created: proto::ConversationCreated) -> Result<ConversationCreated, Violation> {
    let forked_from = created.forked_from.map(fork_point_from_proto).transpose();
    Ok(ConversationCreated {
        agent: AgentId::parse(created.agent_id).map_err(|violation| violation.within("agent_id"))?,
        owner: owner_from_proto(created.owner).map_err(|violation| violation.within("owner"))?,
        title: text(created.title, TITLE_BYTES_MAX, "title")?,
        metadata: metadata(created.metadata_json, "metadata_json")?,
        client_context: client_context_from_proto(created.client_context)
            .map_err(|violation| violation.within("client_context"))?,
        provider_conversation_id: label(created.provider_conversation_id, "provider_conversation_id")?,
        forked_from: forked_from.map_err(|violation| violation.within("forked_from"))?,
    })
}

pub(super) fn owner_changed_to_proto(changed: &OwnerChanged) -> proto::OwnerChanged {
    proto::OwnerChanged {
        owner: Some(owner_to_proto(&changed.owner)),
        previous: Some(owner_to_proto(&changed.previous)),
    }
}

pub(super) fn owner_changed_from_proto(changed: proto::OwnerChanged) -> Result<OwnerChanged, Violation> {
    Ok(OwnerChanged {
        owner: owner_from_proto(changed.owner).map_err(|violation| violation.within("owner"))?,
        previous: owner_from_proto(changed.previous).map_err(|violation| violation.within("previous"))?,
    })
}

pub(super) fn run_started_to_proto(started: &RunStarted) -> proto::RunStarted {
    proto::RunStarted {
        run_id: run_bytes(started.run),
        model: label_text(started.model.as_ref()),
        provider: label_text(started.provider.as_ref()),
    }
}

pub(super) fn run_started_from_proto(started: proto::RunStarted) -> Result<RunStarted, Violation> {
    Ok(RunStarted {
        run: run_from_bytes(&started.run_id)?,
        model: label(started.model, "model")?,
        provider: label(started.provider, "provider")?,
    })
}

pub(super) fn run_finished_to_proto(finished: &RunFinished) -> proto::RunFinished {
    proto::RunFinished { run_id: run_bytes(finished.run), outcome: outcome_to_proto(finished.outcome).into() }
}

pub(super) fn run_finished_from_proto(finished: &proto::RunFinished) -> Result<RunFinished, Violation> {
    Ok(RunFinished {
        run: run_from_bytes(&finished.run_id)?,
        outcome: outcome_from_proto(finished.outcome()).map_err(|violation| violation.within("outcome"))?,
    })
}

pub(super) fn run_bytes(run: RunId) -> Bytes {
    run.0.as_bytes().to_vec().into()
}

pub(super) fn run_from_bytes(bytes: &[u8]) -> Result<RunId, Violation> {
    uuid(bytes, "run_id").map(RunId)
}

/// How a run ended, as protobuf.
#[must_use]
pub fn outcome_to_proto(outcome: RunOutcome) -> proto::RunOutcome {
    match outcome {
        RunOutcome::Completed => proto::RunOutcome::Completed,
        RunOutcome::Stopped => proto::RunOutcome::Stopped,
        RunOutcome::Failed => proto::RunOutcome::Failed,
        RunOutcome::Abandoned => proto::RunOutcome::Abandoned,
    }
}

/// How a run ended, as the domain type.
///
/// # Errors
/// [`ViolationReason::Missing`] for one that is not given.
pub fn outcome_from_proto(outcome: proto::RunOutcome) -> Result<RunOutcome, Violation> {
    match outcome {
        proto::RunOutcome::Unspecified => {
            Err(Violation::new(ViolationReason::Missing, "is required: how the run ended"))
        }
        proto::RunOutcome::Completed => Ok(RunOutcome::Completed),
        proto::RunOutcome::Stopped => Ok(RunOutcome::Stopped),
        proto::RunOutcome::Failed => Ok(RunOutcome::Failed),
        proto::RunOutcome::Abandoned => Ok(RunOutcome::Abandoned),
    }
}
