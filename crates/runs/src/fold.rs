//! Folds the parts of a run into the facts that its end records.

use domain::bounds::{EVENT_BYTES_MAX, PARTS_MAX, RUN_EVENTS_MAX};
use domain::event::{Fact, MessageAppended, Role, RunStarted, UsageSource};
use domain::{Label, RunEnd, RunPart, RunPartKind};
use thiserror::Error;

mod bytes;

use bytes::{fact_bytes, output_bytes};

use crate::step::{DeltaKind, OpenStep, StreamedCall};

/// Maximum bytes of the texts and documents of a run.
pub const RUN_BYTES_MAX: usize = 8 * 1_024 * 1_024;
/// Maximum number of facts of finished steps and tools. Two more are reserved: the message of an unfinished step, and an
/// error.
pub const RUN_FACTS_MAX: usize = RUN_EVENTS_MAX - 2;
/// Maximum bytes of the texts of one step. They must fit into one event, also for an unfinished step.
pub const STEP_WORDS_BYTES_MAX: usize = EVENT_BYTES_MAX - 32 * 1_024;
/// Maximum number of texts and calls of one step.
pub const STEP_PIECES_MAX: usize = PARTS_MAX;
/// The finish reason of an unfinished step.
pub const INTERRUPTED: &str = "interrupted";

/// A part was rejected. The fold is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FoldError {
    /// Parts are missing: read them first.
    #[error("part {expected} is missing: got part {found}")]
    Gap {
        /// The next number.
        expected: u64,
        /// The number of the rejected part.
        found: u64,
    },
    /// The run has already ended.
    #[error("part {number} follows the end of the run")]
    AfterEnd {
        /// The number of the part.
        number: u64,
    },
    /// The run would exceed a bound, and must be ended.
    #[error("part {number} would make {what} more than {most}: end the run")]
    TooLarge {
        /// The number of the part.
        number: u64,
        /// The bounded quantity.
        what: &'static str,
        /// The bound.
        most: usize,
    },
    /// The part is invalid at this position: its producer has a bug.
    #[error("part {number} {rule}")]
    Malformed {
        /// The number of the part.
        number: u64,
        /// The broken rule.
        rule: &'static str,
    },
}

/// The fold of the parts of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFold {
    started: RunStarted,
    last_number: u64,
    finished: Vec<Fact>,
    finished_bytes: usize,
    step: OpenStep,
    end: Option<RunEnd>,
}

impl RunFold {
    /// A run without parts. `started` is the recorded event, so that every fold of the run has equal facts.
    #[must_use]
    pub fn new(started: RunStarted) -> Self {
        Self { started, last_number: 0, finished: Vec::new(), finished_bytes: 0, step: OpenStep::default(), end: None }
    }

    /// Adds the next part. Duplicates are ignored.
    ///
    /// # Errors
    /// A [`FoldError`]; the fold is unchanged.
    pub fn absorb(&mut self, part: &RunPart) -> Result<(), FoldError> {
        let number = part.number;
        if number <= self.last_number {
            return Ok(());
        }
        if self.end.is_some() {
            return Err(FoldError::AfterEnd { number });
        }
        if number != self.next_number() {
            return Err(FoldError::Gap { expected: self.next_number(), found: number });
        }
        self.check_bounds(part)?;
        self.add(part)?;
        self.last_number = number;
        Ok(())
    }

    /// The facts that the end of the run records before `RunFinished`: finished steps and results in order, one message with
    /// the texts of the unfinished step, and the error. Calls of an unfinished step are omitted.
    #[must_use]
    pub fn facts(&self) -> Vec<Fact> {
        let error = self.end.as_ref().and_then(|end| end.error.clone());
        let unfinished = self.unfinished_message().into_iter();
        let rest = unfinished.chain(error.map(Fact::from));
        self.finished.iter().cloned().chain(rest).collect()
    }

    /// The facts of finished steps and results.
    #[must_use]
    pub fn finished_facts(&self) -> &[Fact] {
        &self.finished
    }

    /// The unfinished step; `None` after the end of the run.
    #[must_use]
    pub fn open_step(&self) -> Option<&OpenStep> {
        self.end.is_none().then_some(&self.step)
    }

    /// The end of the run; `None` while it is active.
    #[must_use]
    pub fn end(&self) -> Option<&RunEnd> {
        self.end.as_ref()
    }

    /// The number of the next part.
    #[must_use]
    pub fn next_number(&self) -> u64 {
        self.last_number.saturating_add(1)
    }

    /// The recorded start of the run.
    #[must_use]
    pub fn started(&self) -> &RunStarted {
        &self.started
    }

    fn check_bounds(&self, part: &RunPart) -> Result<(), FoldError> {
        let number = part.number;
        let at_most = |what, count: usize, most: usize| {
            let error = FoldError::TooLarge { number, what, most };
            if count > most { Err(error) } else { Ok(()) }
        };
        if let Some((kind, text)) = DeltaKind::from_part(&part.kind) {
            let bytes = self.step.text_bytes().saturating_add(text.len());
            at_most("the step's bytes", bytes, STEP_WORDS_BYTES_MAX)?;
            let pieces = self.step.pieces_with(kind);
            at_most("the step's pieces", pieces, STEP_PIECES_MAX)?;
        }
        let (facts, bytes) = match &part.kind {
            RunPartKind::CallBegan { .. } => {
                let pieces = self.step.pieces().len() + 1;
                at_most("the step's pieces", pieces, STEP_PIECES_MAX)?;
                (0, self.step.bytes())
            }
            RunPartKind::CallInput { fragment, .. } => (0, self.step.bytes().saturating_add(fragment.len())),
            // The facts of the step replace its streamed deltas.
            RunPartKind::StepFinished(facts) => (facts.len(), facts.iter().map(fact_bytes).sum()),
            RunPartKind::ToolReturned(result) => {
                let bytes = self.step.bytes();
                (1, bytes.saturating_add(output_bytes(&result.output)))
            }
            RunPartKind::TextDelta(text) | RunPartKind::ThinkingDelta(text) | RunPartKind::RefusalDelta(text) => {
                (0, self.step.bytes().saturating_add(text.len()))
            }
            // An end adds nothing, and must always be accepted.
            RunPartKind::KeptAlive | RunPartKind::RunEnded(_) => return Ok(()),
        };
        at_most("events", self.finished.len() + facts, RUN_FACTS_MAX)?;
        let bytes = self.finished_bytes.saturating_add(bytes);
        at_most("bytes", bytes, RUN_BYTES_MAX)
    }

    fn add(&mut self, part: &RunPart) -> Result<(), FoldError> {
        let malformed = |rule| FoldError::Malformed { number: part.number, rule };
        if let Some((kind, text)) = DeltaKind::from_part(&part.kind) {
            self.step.push_text(kind, text);
        }
        match &part.kind {
            RunPartKind::CallBegan { index, call_id, tool_name } => {
                if self.step.call_mut(*index).is_some() {
                    return Err(malformed("starts a call that the step already has"));
                }
                self.step.push_call(StreamedCall {
                    index: *index,
                    call_id: call_id.clone(),
                    tool_name: tool_name.clone(),
                    input: String::new(),
                });
            }
            RunPartKind::CallInput { index, fragment } => {
                self.step.extend(*index, fragment).ok_or_else(|| malformed("continues a call that was not started"))?;
            }
            RunPartKind::StepFinished(facts) => {
                if !facts.iter().all(is_step_fact) {
                    let rule = "finishes a step with facts other than assistant messages and calls";
                    return Err(malformed(rule));
                }
                self.finish(facts);
                self.step = OpenStep::default();
            }
            RunPartKind::ToolReturned(result) => {
                self.finish(&[Fact::ToolReturned(result.clone())]);
            }
            RunPartKind::RunEnded(end) => self.end = Some(end.clone()),
            RunPartKind::TextDelta(_)
            | RunPartKind::ThinkingDelta(_)
            | RunPartKind::RefusalDelta(_)
            | RunPartKind::KeptAlive => {}
        }
        Ok(())
    }

    fn finish(&mut self, facts: &[Fact]) {
        let bytes: usize = facts.iter().map(fact_bytes).sum();
        self.finished_bytes = self.finished_bytes.saturating_add(bytes);
        self.finished.extend_from_slice(facts);
    }

    fn unfinished_message(&self) -> Option<Fact> {
        let parts = self.step.message_parts();
        if parts.is_empty() {
            return None;
        }
        Some(Fact::MessageAppended(MessageAppended {
            role: Role::Assistant,
            parts,
            author: None,
            model: self.started.model.clone(),
            provider: self.started.provider.clone(),
            provider_response_id: None,
            finish_reason: Label::parse(INTERRUPTED).ok(),
            usage: None,
            usage_source: UsageSource::Reported,
        }))
    }
}

fn is_step_fact(fact: &Fact) -> bool {
    match fact {
        Fact::MessageAppended(message) => message.role == Role::Assistant,
        Fact::ToolCalled(_) => true,
        Fact::ToolReturned(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => false,
    }
}

#[cfg(test)]
mod tests;
