//! Parts of runs: made from the deltas of a model, and the size limits of a run. Pure.

use domain::bounds::{DELTA_BYTES_MAX, EVENT_BYTES_MAX};
use domain::{CallId, Fact, RunPartKind, ToolName, Violation};
use formats::Delta;
use prost::Message as _;

/// Reserved bytes of [`EVENT_BYTES_MAX`] for the ids and times that are recorded with a fact.
const EVENT_MARGIN_BYTES: usize = 1_024;
/// Maximum encoded size of a run's facts, in bytes. The finishing commit is one request to the writer, of at most 4 MiB.
pub const RUN_FACTS_BYTES_MAX: usize = 3 * 1_024 * 1_024;
/// Maximum size of the deltas of an unfinished step, in bytes. If the run ends there, they become one message.
pub const STEP_DELTAS_BYTES_MAX: usize = EVENT_BYTES_MAX - 16 * 1_024;

/// The parts for a delta: none for an empty delta, several for one that is longer than a part.
///
/// # Errors
/// The call id or the tool name is invalid in events.
pub fn parts_from_delta(delta: Delta) -> Result<Vec<RunPartKind>, Violation> {
    Ok(match delta {
        Delta::Text(text) => split(&text).map(RunPartKind::TextDelta).collect(),
        Delta::Thinking(text) => split(&text).map(RunPartKind::ThinkingDelta).collect(),
        Delta::Refusal(text) => split(&text).map(RunPartKind::RefusalDelta).collect(),
        Delta::CallBegan { index, call_id, tool_name } => vec![RunPartKind::CallBegan {
            index: number(index),
            call_id: CallId::parse(call_id)?,
            tool_name: ToolName::parse(tool_name)?,
        }],
        Delta::CallInput { index, fragment } => {
            split(&fragment).map(|fragment| RunPartKind::CallInput { index: number(index), fragment }).collect()
        }
    })
}

/// The size of a part in bytes.
#[must_use]
pub fn size_bytes(kind: &RunPartKind) -> usize {
    match kind {
        RunPartKind::TextDelta(text) | RunPartKind::ThinkingDelta(text) | RunPartKind::RefusalDelta(text) => text.len(),
        RunPartKind::CallInput { fragment, .. } => fragment.len(),
        RunPartKind::CallBegan { call_id, tool_name, .. } => call_id.as_str().len() + tool_name.as_str().len(),
        RunPartKind::StepFinished(facts) => facts.iter().map(fact_bytes).sum(),
        RunPartKind::ToolReturned(result) => fact_bytes(&Fact::ToolReturned(result.clone())),
        RunPartKind::KeptAlive | RunPartKind::RunEnded(_) => 0,
    }
}

/// The size of a run so far, checked against the limits.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunSize {
    facts: usize,
    deltas: usize,
}

/// The run is larger than what can be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the run comes to more than {STEP_DELTAS_BYTES_MAX} bytes in one answer, or {RUN_FACTS_BYTES_MAX} in all")]
pub struct TooLarge;

impl RunSize {
    /// Adds a part.
    ///
    /// # Errors
    /// [`TooLarge`]: the part must not be published.
    pub fn add(&mut self, kind: &RunPartKind) -> Result<(), TooLarge> {
        let bytes = size_bytes(kind);
        let mut after = *self;
        match kind {
            RunPartKind::StepFinished(facts) => {
                if facts.iter().any(|fact| !fits_an_event(fact)) {
                    return Err(TooLarge);
                }
                after.deltas = 0;
                after.facts += bytes;
            }
            RunPartKind::ToolReturned(_) => after.facts += bytes,
            RunPartKind::TextDelta(_)
            | RunPartKind::ThinkingDelta(_)
            | RunPartKind::RefusalDelta(_)
            | RunPartKind::CallBegan { .. }
            | RunPartKind::CallInput { .. } => after.deltas += bytes,
            RunPartKind::KeptAlive | RunPartKind::RunEnded(_) => {}
        }
        let fits = after.deltas <= STEP_DELTAS_BYTES_MAX && after.facts + after.deltas <= RUN_FACTS_BYTES_MAX;
        if !fits {
            return Err(TooLarge);
        }
        *self = after;
        Ok(())
    }
}

/// Whether a fact can be recorded as an event.
#[must_use]
pub fn fits_an_event(fact: &Fact) -> bool {
    fact_bytes(fact) <= EVENT_BYTES_MAX - EVENT_MARGIN_BYTES
}

fn fact_bytes(fact: &Fact) -> usize {
    wire::event::fact_to_proto(fact).encoded_len()
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Splits a text between characters into pieces of at most [`DELTA_BYTES_MAX`].
fn split(text: &str) -> impl Iterator<Item = String> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let at = rest.floor_char_boundary(DELTA_BYTES_MAX);
        let (piece, after) = rest.split_at_checked(at)?;
        rest = after;
        (!piece.is_empty()).then(|| piece.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use domain::Part;
    use domain::event::{MessageAppended, Role};

    use super::*;

    fn text(bytes: usize) -> RunPartKind {
        RunPartKind::TextDelta("x".repeat(bytes))
    }

    fn step(bytes: usize) -> RunPartKind {
        RunPartKind::StepFinished(vec![Fact::MessageAppended(MessageAppended::new(
            Role::Assistant,
            vec![Part::Text("x".repeat(bytes))],
        ))])
    }

    #[test]
    fn long_deltas_come_in_pieces() {
        let check = |text: &str, sizes: &[usize]| {
            let pieces = parts_from_delta(Delta::Text(text.to_owned())).unwrap();
            let seen: Vec<usize> = pieces.iter().map(size_bytes).collect();
            assert_eq!(seen, sizes);
            let joined: String = pieces.iter().map(joined).collect();
            assert_eq!(joined, text);
        };
        check("", &[]);
        check("a", &[1]);
        check(&"x".repeat(DELTA_BYTES_MAX), &[DELTA_BYTES_MAX]);
        check(&"x".repeat(DELTA_BYTES_MAX + 1), &[DELTA_BYTES_MAX, 1]);
        let odd = format!("x{}", "ü".repeat(DELTA_BYTES_MAX / 2));
        check(&odd, &[DELTA_BYTES_MAX - 1, 2]);
    }

    fn joined(kind: &RunPartKind) -> &str {
        let RunPartKind::TextDelta(text) = kind else {
            panic!("no text: {kind:?}");
        };
        text
    }

    #[test]
    fn an_answer_and_a_run_have_a_bound() {
        let check = |kinds: &[RunPartKind], fits: bool| {
            let mut weight = RunSize::default();
            let all = kinds.iter().try_for_each(|kind| weight.add(kind));
            assert_eq!(all.is_ok(), fits);
        };
        check(&[text(STEP_DELTAS_BYTES_MAX)], true);
        check(&[text(STEP_DELTAS_BYTES_MAX), text(1)], false);
        check(&[text(STEP_DELTAS_BYTES_MAX), step(1), text(STEP_DELTAS_BYTES_MAX)], true);
        let frame = size_bytes(&step(400_000)) - 400_000;
        let largest = EVENT_BYTES_MAX - EVENT_MARGIN_BYTES - frame;
        check(&[step(largest)], true);
        check(&[step(largest + 1)], false);
        let whole = 10;
        let part = RUN_FACTS_BYTES_MAX / whole - frame;
        let rest = RUN_FACTS_BYTES_MAX - whole * (part + frame);
        let mut run: Vec<RunPartKind> = (0..whole).map(|_| step(part)).collect();
        check(&run, true);
        run.push(text(rest));
        check(&run, true);
        run.push(text(1));
        check(&run, false);
    }

    #[test]
    fn ids_that_no_event_can_hold_are_refused() {
        let began =
            |call_id: &str| Delta::CallBegan { index: 0, call_id: call_id.to_owned(), tool_name: "t".to_owned() };
        assert!(parts_from_delta(began("c")).is_ok());
        assert!(parts_from_delta(began("")).is_err());
    }
}
