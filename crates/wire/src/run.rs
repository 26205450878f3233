//! Conversions of run parts, and the encoding of their batches.

use bytes::Bytes;
use domain::bounds::{
    BATCH_DELTA_BYTES_MAX, DELTA_BYTES_MAX, OPEN_CALLS_MAX, PARTS_PER_BATCH_MAX, RUN_ERROR_BYTES_MAX,
};
use domain::event::{ErrorOccurred, Fact};
use domain::violation::check_length;
use domain::{CallId, Label, RunEnd, RunOutcome, RunPart, RunPartKind, ToolName, Violation, ViolationReason};
use prost::Message as _;

use crate::commit::CorruptCommit;
use crate::event;
use crate::proto::event::v1 as event_proto;
use crate::proto::run::v1 as proto;

/// A part as protobuf.
#[must_use]
pub fn part_to_proto(part: &RunPart) -> proto::Part {
    use proto::part::Kind;
    let kind = match &part.kind {
        RunPartKind::TextDelta(text) => Kind::TextDelta(text.clone()),
        RunPartKind::ThinkingDelta(text) => Kind::ThinkingDelta(text.clone()),
        RunPartKind::RefusalDelta(text) => Kind::RefusalDelta(text.clone()),
        RunPartKind::CallBegan { index, call_id, tool_name } => Kind::CallBegan(proto::CallBegan {
            index: *index,
            call_id: call_id.as_str().to_owned(),
            tool_name: tool_name.as_str().to_owned(),
        }),
        RunPartKind::CallInput { index, fragment } => {
            Kind::CallInput(proto::CallInput { index: *index, fragment: fragment.clone() })
        }
        RunPartKind::StepFinished(facts) => {
            Kind::StepFinished(proto::StepFinished { events: facts.iter().map(event::fact_to_proto).collect() })
        }
        RunPartKind::ToolReturned(result) => Kind::ToolReturned(event::tool_returned(result)),
        RunPartKind::KeptAlive => Kind::KeptAlive(proto::KeptAlive {}),
        RunPartKind::RunEnded(end) => Kind::RunEnded(end_to_proto(end)),
    };
    proto::Part { number: part.number, kind: Some(kind) }
}

/// A part as the domain type.
///
/// # Errors
/// The first field that breaks a rule, by its path in the part.
pub fn part_from_proto(part: proto::Part) -> Result<RunPart, Violation> {
    let kind = part.kind.ok_or_else(|| missing("kind"))?;
    if part.number == 0 {
        return Err(missing("number"));
    }
    Ok(RunPart { number: part.number, kind: kind_from_proto(kind)? })
}

fn kind_from_proto(kind: proto::part::Kind) -> Result<RunPartKind, Violation> {
    use proto::part::Kind;
    Ok(match kind {
        Kind::TextDelta(text) => RunPartKind::TextDelta(delta(text, "text_delta")?),
        Kind::ThinkingDelta(text) => RunPartKind::ThinkingDelta(delta(text, "thinking_delta")?),
        Kind::RefusalDelta(text) => RunPartKind::RefusalDelta(delta(text, "refusal_delta")?),
        Kind::CallBegan(call) => RunPartKind::CallBegan {
            index: call.index,
            call_id: CallId::parse(call.call_id).map_err(|violation| violation.within("call_began.call_id"))?,
            tool_name: ToolName::parse(call.tool_name).map_err(|violation| violation.within("call_began.tool_name"))?,
        },
        Kind::CallInput(input) => {
            RunPartKind::CallInput { index: input.index, fragment: delta(input.fragment, "call_input.fragment")? }
        }
        Kind::StepFinished(step) => {
            RunPartKind::StepFinished(step_facts(step).map_err(|violation| violation.within("step_finished"))?)
        }
        Kind::ToolReturned(result) => RunPartKind::ToolReturned(
            event::tool_returned_from_proto(result).map_err(|violation| violation.within("tool_returned"))?,
        ),
        Kind::KeptAlive(_) => RunPartKind::KeptAlive,
        Kind::RunEnded(end) => {
            RunPartKind::RunEnded(end_from_proto(end).map_err(|violation| violation.within("run_ended"))?)
        }
    })
}

/// The facts of a step: its message, then its calls.
fn step_facts(step: proto::StepFinished) -> Result<Vec<Fact>, Violation> {
    check_length(step.events.len(), OPEN_CALLS_MAX + 1).map_err(|violation| violation.within("events"))?;
    let fact = |(index, given): (usize, event_proto::Event)| {
        let at = |violation: Violation| violation.at(index).within("events");
        let fact = event::stored_event_from_proto(given).map_err(at)?.fact;
        if matches!(fact, Fact::MessageAppended(_) | Fact::ToolCalled(_)) {
            return Ok(fact);
        }
        let rule = "is neither a message nor a call: a step has nothing else";
        Err(at(Violation::new(ViolationReason::Malformed, rule)))
    };
    step.events.into_iter().enumerate().map(fact).collect()
}

fn end_to_proto(end: &RunEnd) -> proto::RunEnded {
    let error = end.error.as_ref();
    proto::RunEnded {
        outcome: event::outcome_to_proto(end.outcome).into(),
        error_type: error.map(|error| error.error_type.as_str().to_owned()).unwrap_or_default(),
        error_message: error.map(|error| error.message.clone()).unwrap_or_default(),
    }
}

fn end_from_proto(end: proto::RunEnded) -> Result<RunEnd, Violation> {
    let outcome: RunOutcome =
        event::outcome_from_proto(end.outcome()).map_err(|violation| violation.within("outcome"))?;
    check_length(end.error_message.len(), RUN_ERROR_BYTES_MAX)
        .map_err(|violation| violation.within("error_message"))?;
    let error = match end.error_type.as_str() {
        "" => None,
        _ => Some(ErrorOccurred {
            error_type: Label::parse(end.error_type).map_err(|violation| violation.within("error_type"))?,
            message: end.error_message,
        }),
    };
    Ok(RunEnd { outcome, error })
}

/// The parts of one batch of a caller: 1 to [`PARTS_PER_BATCH_MAX`], with at most [`BATCH_DELTA_BYTES_MAX`] of deltas,
/// numbered without gaps, an end only as the last part, and no empty text in a step.
///
/// # Errors
/// The first field that breaks a rule, by its path under `parts`.
pub fn parts_from_proto(parts: Vec<proto::Part>) -> Result<Vec<RunPart>, Violation> {
    let accepted = stored_parts_from_proto(parts)?;
    for (index, part) in accepted.iter().enumerate() {
        check_texts(part).map_err(|violation| violation.at(index).within("parts"))?;
    }
    Ok(accepted)
}

/// Rejects an empty text in a new step.
fn check_texts(part: &RunPart) -> Result<(), Violation> {
    let RunPartKind::StepFinished(facts) = &part.kind else {
        return Ok(());
    };
    for (index, fact) in facts.iter().enumerate() {
        let within = |violation: Violation| violation.at(index).within("step_finished.events");
        event::check_texts(fact).map_err(within)?;
    }
    Ok(())
}

/// As [`parts_from_proto`], for stored parts, which may contain empty texts.
fn stored_parts_from_proto(parts: Vec<proto::Part>) -> Result<Vec<RunPart>, Violation> {
    if parts.is_empty() {
        return Err(missing("parts"));
    }
    check_length(parts.len(), PARTS_PER_BATCH_MAX).map_err(|violation| violation.within("parts"))?;
    let mut accepted: Vec<RunPart> = Vec::with_capacity(parts.len());
    for (index, part) in parts.into_iter().enumerate() {
        let at = |violation: Violation| violation.at(index).within("parts");
        let part = part_from_proto(part).map_err(at)?;
        if let Some(previous) = accepted.last() {
            check_follows(previous, &part).map_err(at)?;
        }
        accepted.push(part);
    }
    check_length(accepted.iter().map(delta_bytes).sum(), BATCH_DELTA_BYTES_MAX)
        .map_err(|violation| violation.within("parts"))?;
    Ok(accepted)
}

fn delta_bytes(part: &RunPart) -> usize {
    match &part.kind {
        RunPartKind::TextDelta(text)
        | RunPartKind::ThinkingDelta(text)
        | RunPartKind::RefusalDelta(text)
        | RunPartKind::CallInput { fragment: text, .. } => text.len(),
        RunPartKind::CallBegan { .. }
        | RunPartKind::StepFinished(_)
        | RunPartKind::ToolReturned(_)
        | RunPartKind::KeptAlive
        | RunPartKind::RunEnded(_) => 0,
    }
}

fn check_follows(previous: &RunPart, part: &RunPart) -> Result<(), Violation> {
    if Some(part.number) != previous.number.checked_add(1) {
        let rule = format!("is {}, but must be one more than the previous part's", part.number);
        return Err(Violation::new(ViolationReason::OutOfRange, rule).within("number"));
    }
    if matches!(previous.kind, RunPartKind::RunEnded(_)) {
        let rule = "follows the end of the run, which must be the last part";
        return Err(Violation::new(ViolationReason::Malformed, rule));
    }
    Ok(())
}

/// Encodes a batch for its stream.
#[must_use]
pub fn encode_batch(parts: &[RunPart]) -> Bytes {
    let batch = proto::PartBatch { parts: parts.iter().map(part_to_proto).collect() };
    batch.encode_to_vec().into()
}

/// Decodes a batch of its stream.
///
/// # Errors
/// [`CorruptCommit`]: the caller adds stream and sequence, and never skips the message.
pub fn decode_batch(bytes: Bytes) -> Result<Vec<RunPart>, CorruptCommit> {
    let batch = proto::PartBatch::decode(bytes).map_err(|_| CorruptCommit::Body)?;
    stored_parts_from_proto(batch.parts).map_err(|violation| CorruptCommit::Field(violation.field))
}

fn delta(text: String, field: &str) -> Result<String, Violation> {
    if text.is_empty() {
        return Err(missing(field));
    }
    check_length(text.len(), DELTA_BYTES_MAX).map_err(|violation| violation.within(field))?;
    Ok(text)
}

fn missing(field: &str) -> Violation {
    Violation::new(ViolationReason::Missing, "is required").within(field)
}
