//! Responses of the read service: conversations and recorded events.

use bytes::Bytes;
use domain::{CommitId, Conversation, Timestamp, Version};
use prost::Message as _;

use crate::commit::CorruptCommit;
use crate::conversation::{client_context_to_proto, fork_point_to_proto, owner_to_proto, status_to_proto};
use crate::head::{open_call_to_proto, totals_to_proto};
use crate::optional::{json_text, label_text};
use crate::proto::event::v1 as event;
use crate::proto::read::v1 as proto;
use crate::time;

/// A conversation as protobuf.
#[must_use]
pub fn conversation(conversation: Conversation) -> proto::Conversation {
    let head = &conversation.head;
    proto::Conversation {
        conversation_id: conversation.id.as_str().to_owned(),
        agent_id: head.agent.as_str().to_owned(),
        owner: head.owner.as_ref().map(owner_to_proto),
        status: status_to_proto(head.status).into(),
        version: head.version.0,
        provider_conversation_id: label_text(head.provider_conversation_id.as_ref()),
        last_response_id: label_text(head.last_response_id.as_ref()),
        open_calls: head.open_calls.iter().map(open_call_to_proto).collect(),
        totals: Some(totals_to_proto(&head.totals)),
        created_at: Some(time::to_proto(conversation.created_at)),
        last_event_at: Some(time::to_proto(head.last_event_at)),
        chain: head.chain.0.to_vec().into(),
        forked_from: head.forked_from.as_ref().map(fork_point_to_proto),
        active_run_id: head.active_run.map(|run| run.id.to_string()).unwrap_or_default(),
        metadata_json: json_text(conversation.metadata.as_ref()),
        client_context: Some(client_context_to_proto(&conversation.client_context)),
        title: conversation.title.unwrap_or_default(),
    }
}

/// A recorded event as protobuf, from its own bytes.
///
/// # Errors
/// [`CorruptCommit::Body`]: the bytes are not an event's.
pub fn recorded_event(
    version: Version,
    commit: CommitId,
    recorded_at: Timestamp,
    bytes: Bytes,
) -> Result<proto::RecordedEvent, CorruptCommit> {
    Ok(proto::RecordedEvent {
        version: version.0,
        commit_id: commit.to_string(),
        recorded_at: Some(time::to_proto(recorded_at)),
        event: Some(event::Event::decode(bytes).map_err(|_| CorruptCommit::Body)?),
    })
}
