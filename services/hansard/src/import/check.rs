//! Applies the writer's rules to a conversation before anything is sent, so that nothing of a rejected conversation is
//! imported.

use domain::bounds::{EVENT_BYTES_MAX, METADATA_BYTES_MAX, TITLE_BYTES_MAX};
use domain::command::{Action, Command, Expectation, NewEvent, Rejection, decide};
use domain::{AgentId, ChainHash, CommitId, Head, Status, Timestamp, Totals, Version, Violation, ViolationReason};
use prost::Message as _;
use uuid::Uuid;
use wire::proto::event::v1 as proto;

use super::fields::malformed;
use super::{Dialogue, SourceEvent};

/// Checks owner, title, metadata, each event, and that every tool result answers an open call.
pub(super) fn check(dialogue: &Dialogue) -> Result<(), Violation> {
    let owner = proto::Owner { kind: Some(dialogue.owner.clone()) };
    wire::conversation::owner_from_proto(Some(owner)).map_err(|violation| violation.within("owner"))?;
    wire::optional::text(dialogue.title.clone(), TITLE_BYTES_MAX, "title")?;
    if !dialogue.metadata_json.is_empty() {
        domain::JsonText::parse_metadata(dialogue.metadata_json.clone(), METADATA_BYTES_MAX)
            .map_err(|violation| violation.within("metadata"))?;
    }
    let events =
        dialogue.events.iter().map(|placed| event(placed).map_err(|violation| in_message(violation, placed.message)));
    decide_append(dialogue, events.collect::<Result<_, _>>()?)
}

fn event(placed: &SourceEvent) -> Result<NewEvent, Violation> {
    let bytes = placed.event.encoded_len();
    if bytes > EVENT_BYTES_MAX {
        let description = format!("has {bytes} bytes; the maximum is {EVENT_BYTES_MAX}");
        return Err(Violation::new(ViolationReason::EventTooLarge, description));
    }
    wire::event::new_event_from_proto(placed.event.clone())
}

/// Decides the append of all events to an empty conversation, as the writer would.
fn decide_append(dialogue: &Dialogue, events: Vec<NewEvent>) -> Result<(), Violation> {
    let Ok(agent) = AgentId::parse("any") else {
        return Ok(());
    };
    let command = Command {
        commit: CommitId(Uuid::nil()),
        agent: agent.clone(),
        expectation: Expectation::Any,
        action: Action::Append { events, expected: None },
    };
    match decide(Some(&empty_head(agent)), &command) {
        Ok(_) => Ok(()),
        Err(rejection) => Err(explain(&rejection, dialogue)),
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "a new, empty conversation causes no other rejections")]
fn explain(rejection: &Rejection, dialogue: &Dialogue) -> Violation {
    let (index, description) = match rejection {
        Rejection::CallNotOpen { index, .. } => {
            let what = "is the result of no open call: the call is missing or already has a result";
            (*index, what.to_owned())
        }
        Rejection::CallAlreadyOpen { index, .. } => {
            let what = "contains a call with the id of an open call";
            (*index, what.to_owned())
        }
        Rejection::ToolMismatch { index, .. } => (*index, "has another tool name than its call".to_owned()),
        Rejection::TooManyOpenCalls { index, open_max } => {
            let what = format!("contains a call while {open_max} calls, the maximum, are open");
            (*index, what)
        }
        other => return malformed(other.to_string()),
    };
    let placed = dialogue.events.get(index);
    in_message(malformed(description), placed.map_or(0, |placed| placed.message))
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
