//! Whether the record will take a conversation: the writer's own rules, asked before anything is sent, so that a bad
//! line leaves nothing behind.

use domain::bounds::{EVENT_BYTES_MAX, METADATA_BYTES_MAX, TITLE_BYTES_MAX};
use domain::command::{Action, Command, Expectation, NewEvent, Rejection, decide};
use domain::{
    AgentId, ChainHash, CommitId, Head, Status, Timestamp, Totals, Version, Violation,
    ViolationReason,
};
use prost::Message as _;
use uuid::Uuid;
use wire::proto::event::v1 as proto;

use super::{Dialogue, PlacedEvent};

/// Checks owner, title, metadata, each event, and that every tool result answers an open call.
pub(super) fn check(dialogue: &Dialogue) -> Result<(), Violation> {
    let owner = proto::Owner {
        kind: Some(dialogue.owner.clone()),
    };
    wire::conversation::owner_from_proto(Some(owner))
        .map_err(|violation| violation.within("owner"))?;
    wire::optional::text(dialogue.title.clone(), TITLE_BYTES_MAX, "title")?;
    if !dialogue.metadata_json.is_empty() {
        domain::JsonText::parse_metadata(dialogue.metadata_json.clone(), METADATA_BYTES_MAX)
            .map_err(|violation| violation.within("metadata"))?;
    }
    let events = dialogue
        .events
        .iter()
        .map(|placed| event(placed).map_err(|violation| in_message(violation, placed.message)))
        .collect::<Result<Vec<NewEvent>, Violation>>()?;
    follow(dialogue, events)
}

fn event(placed: &PlacedEvent) -> Result<NewEvent, Violation> {
    let bytes = placed.event.encoded_len();
    if bytes > EVENT_BYTES_MAX {
        let description = format!("is {bytes} bytes, at most {EVENT_BYTES_MAX} are taken");
        return Err(Violation::new(ViolationReason::EventTooLarge, description));
    }
    wire::event::new_event_from_proto(placed.event.clone())
}

/// Walks through the conversation as the writer will.
fn follow(dialogue: &Dialogue, events: Vec<NewEvent>) -> Result<(), Violation> {
    let Ok(agent) = AgentId::parse("any") else {
        return Ok(());
    };
    let command = Command {
        commit: CommitId(Uuid::nil()),
        agent: agent.clone(),
        expectation: Expectation::Any,
        action: Action::Append(events),
    };
    match decide(Some(&empty_head(agent)), &command) {
        Ok(_) => Ok(()),
        Err(rejection) => Err(explain(&rejection, dialogue)),
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a new, empty conversation knows no others"
)]
fn explain(rejection: &Rejection, dialogue: &Dialogue) -> Violation {
    let (index, description) = match rejection {
        Rejection::CallNotOpen { index, .. } => (
            *index,
            "answers no open call: it was never made, or has its result already".to_owned(),
        ),
        Rejection::CallAlreadyOpen { index, .. } => (
            *index,
            "makes a call under the id of one that still waits".to_owned(),
        ),
        Rejection::ToolMismatch { index, .. } => {
            (*index, "names another tool than its call".to_owned())
        }
        Rejection::TooManyOpenCalls { index, open_max } => (
            *index,
            format!("makes a call while {open_max} wait, and no more may"),
        ),
        other => return Violation::new(ViolationReason::Malformed, other.to_string()),
    };
    let message = dialogue
        .events
        .get(index)
        .map_or(0, |placed| placed.message);
    in_message(
        Violation::new(ViolationReason::Malformed, description),
        message,
    )
}

fn in_message(violation: Violation, message: usize) -> Violation {
    violation.at(message).within("messages")
}

fn empty_head(agent: AgentId) -> Head {
    Head {
        version: Version::ZERO,
        status: Status::Active,
        owner: None,
        agent,
        open_calls: Vec::new(),
        latest_summary: None,
        latest_rewind: None,
        active_run: None,
        provider_conversation_id: None,
        forked_from: None,
        last_response_id: None,
        totals: Totals::default(),
        chain: ChainHash::default(),
        recorded_at: Timestamp(0),
        last_event_at: Timestamp(0),
        recent: Vec::new(),
    }
}
