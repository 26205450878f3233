//! Conversions of heads.

use domain::{
    ActiveRun, AgentId, CallId, ChainHash, CommitId, Head, OpenCall, RecentCommit, RequestDigest, RewindPlace, RunId,
    RunPhase, Sequence, SummaryPlace, ToolName, Totals, Version, Violation, ViolationReason,
};
use uuid::Uuid;

use crate::conversation::{
    fork_point_from_proto, fork_point_to_proto, owner_from_proto, owner_to_proto, status_from_proto, status_to_proto,
};
use crate::optional::{label, label_text};
use crate::proto::event::v1 as proto;
use crate::time;

/// A head as protobuf.
#[must_use]
pub fn to_proto(head: &Head) -> proto::Head {
    proto::Head {
        version: head.version.0,
        status: status_to_proto(head.status).into(),
        owner: head.owner.as_ref().map(owner_to_proto),
        agent_id: head.agent.as_str().to_owned(),
        open_calls: head.open_calls.iter().map(open_call_to_proto).collect(),
        active_run_id: head.active_run.map(|run| run.id.0.as_bytes().to_vec().into()).unwrap_or_default(),
        provider_conversation_id: label_text(head.provider_conversation_id.as_ref()),
        last_response_id: label_text(head.last_response_id.as_ref()),
        totals: Some(totals_to_proto(&head.totals)),
        chain: head.chain.0.to_vec().into(),
        recorded_at: Some(time::to_proto(head.recorded_at)),
        last_event_at: Some(time::to_proto(head.last_event_at)),
        recent: head.recent.iter().map(recent_to_proto).collect(),
        latest_summary: head.latest_summary.map(summary_to_proto),
        latest_rewind: head.latest_rewind.map(rewind_to_proto),
        forked_from: head.forked_from.as_ref().map(fork_point_to_proto),
        active_run_stopping: head.active_run.is_some_and(|run| run.phase == RunPhase::Stopping),
    }
}

/// A head as the domain type.
///
/// # Errors
/// The field that is corrupt, or that a later version of Hansard wrote.
pub fn from_proto(head: proto::Head) -> Result<Head, Violation> {
    let status = status_from_proto(head.status()).ok_or_else(|| corrupt("status"))?;
    Ok(Head {
        version: Version(head.version),
        status,
        owner: head.owner.map(|owner| owner_from_proto(Some(owner))).transpose()?,
        agent: AgentId::parse(head.agent_id).map_err(|violation| violation.within("agent_id"))?,
        open_calls: head.open_calls.into_iter().map(open_call_from_proto).collect::<Result<_, _>>()?,
        latest_summary: head.latest_summary.map(summary_from_proto),
        latest_rewind: head.latest_rewind.map(rewind_from_proto),
        active_run: match head.active_run_id.as_ref() {
            [] => None,
            bytes => Some(ActiveRun {
                id: RunId(uuid(bytes, "active_run_id")?),
                phase: if head.active_run_stopping { RunPhase::Stopping } else { RunPhase::Running },
            }),
        },
        forked_from: head
            .forked_from
            .map(fork_point_from_proto)
            .transpose()
            .map_err(|violation| violation.within("forked_from"))?,
        provider_conversation_id: label(head.provider_conversation_id, "provider_conversation_id")?,
        last_response_id: label(head.last_response_id, "last_response_id")?,
        totals: totals_from_proto(head.totals.unwrap_or_default()),
        chain: ChainHash(array(&head.chain, "chain")?),
        recorded_at: required_time(head.recorded_at, "recorded_at")?,
        last_event_at: required_time(head.last_event_at, "last_event_at")?,
        recent: head.recent.iter().map(recent_from_proto).collect::<Result<_, _>>()?,
    })
}

/// An open call as protobuf.
#[must_use]
pub fn open_call_to_proto(call: &OpenCall) -> proto::OpenCall {
    proto::OpenCall {
        call_id: call.call_id.as_str().to_owned(),
        tool_name: call.tool_name.as_str().to_owned(),
        version: call.version.0,
    }
}

/// Totals as protobuf.
#[must_use]
pub fn totals_to_proto(totals: &Totals) -> proto::Totals {
    proto::Totals {
        commits: totals.commits,
        messages: totals.messages,
        input_tokens: totals.input_tokens,
        output_tokens: totals.output_tokens,
        cached_tokens: totals.cached_tokens,
        context_tokens: totals.context_tokens,
    }
}

fn open_call_from_proto(call: proto::OpenCall) -> Result<OpenCall, Violation> {
    Ok(OpenCall {
        call_id: CallId::parse(call.call_id).map_err(|violation| violation.within("open_calls"))?,
        tool_name: ToolName::parse(call.tool_name).map_err(|violation| violation.within("open_calls"))?,
        version: Version(call.version),
    })
}

fn totals_from_proto(totals: proto::Totals) -> Totals {
    Totals {
        commits: totals.commits,
        messages: totals.messages,
        input_tokens: totals.input_tokens,
        output_tokens: totals.output_tokens,
        cached_tokens: totals.cached_tokens,
        context_tokens: totals.context_tokens,
    }
}

fn summary_to_proto(place: SummaryPlace) -> proto::SummaryPlace {
    proto::SummaryPlace { version: place.version.0, through_version: place.through.0 }
}

fn summary_from_proto(place: proto::SummaryPlace) -> SummaryPlace {
    SummaryPlace { version: Version(place.version), through: Version(place.through_version) }
}

fn rewind_to_proto(place: RewindPlace) -> proto::RewindPlace {
    proto::RewindPlace { version: place.version.0, to_version: place.to.0 }
}

fn rewind_from_proto(place: proto::RewindPlace) -> RewindPlace {
    RewindPlace { version: Version(place.version), to: Version(place.to_version) }
}

fn recent_to_proto(commit: &RecentCommit) -> proto::RecentCommit {
    proto::RecentCommit {
        commit_id: commit.id.0.as_bytes().to_vec().into(),
        request_digest: commit.request_digest.0.to_vec().into(),
        first_version: commit.first_version.0,
        last_version: commit.last_version.0,
        sequence: commit.sequence.map_or(0, |sequence| sequence.0),
        recorded_at: Some(time::to_proto(commit.recorded_at)),
    }
}

fn recent_from_proto(commit: &proto::RecentCommit) -> Result<RecentCommit, Violation> {
    Ok(RecentCommit {
        id: CommitId(uuid(&commit.commit_id, "recent.commit_id")?),
        request_digest: RequestDigest(array(&commit.request_digest, "recent.request_digest")?),
        first_version: Version(commit.first_version),
        last_version: Version(commit.last_version),
        sequence: (commit.sequence != 0).then_some(Sequence(commit.sequence)),
        recorded_at: required_time(commit.recorded_at, "recent.recorded_at")?,
    })
}

pub(crate) fn uuid(bytes: &[u8], field: &str) -> Result<Uuid, Violation> {
    Ok(Uuid::from_bytes(array(bytes, field)?))
}

pub(crate) fn array<const N: usize>(bytes: &[u8], field: &str) -> Result<[u8; N], Violation> {
    bytes.try_into().map_err(|_| corrupt(field))
}

pub(crate) fn required_time(time: Option<prost_types::Timestamp>, field: &str) -> Result<domain::Timestamp, Violation> {
    let time = time.ok_or_else(|| corrupt(field))?;
    time::from_proto(time).map_err(|violation| violation.within(field))
}

fn corrupt(field: &str) -> Violation {
    Violation::new(ViolationReason::Malformed, "is missing or of the wrong size").within(field)
}
