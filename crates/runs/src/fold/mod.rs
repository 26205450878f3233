//! What a run comes to: its parts, in order, as the facts that its end records.

use domain::bounds::{EVENT_BYTES_MAX, PARTS_MAX, RUN_EVENTS_MAX};
use domain::event::{Fact, MessageAppended, Role, RunStarted};
use domain::{Label, RunEnd, RunPart, RunPartKind};
use thiserror::Error;

mod bytes;

use bytes::{fact_bytes, output_bytes};

use crate::step::{OpenStep, StreamedCall, WordsKind};

/// Most bytes of texts and documents that a run may come to.
pub const RUN_BYTES_MAX: usize = 8 * 1_024 * 1_024;
/// Most facts of finished steps and tools: the words of an unfinished step and an error have room beside them.
pub const RUN_FACTS_MAX: usize = RUN_EVENTS_MAX - 2;
/// Most bytes of the words of one step: they must fit into one event, also when nobody finishes the step.
pub const STEP_WORDS_BYTES_MAX: usize = EVENT_BYTES_MAX - 32 * 1_024;
/// Most pieces of words and calls of one step.
pub const STEP_PIECES_MAX: usize = PARTS_MAX;
/// Why the model stopped, where it never said so.
pub const INTERRUPTED: &str = "interrupted";

/// Why a part cannot be taken. The fold stays as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FoldError {
    /// Parts are missing: read them first.
    #[error("part {expected} is missing: part {found} came instead")]
    Gap {
        /// The number that comes next.
        expected: u64,
        /// The number that came.
        found: u64,
    },
    /// Something follows the end: it belongs to nothing.
    #[error("part {number} follows the end of the run")]
    AfterEnd {
        /// Its number.
        number: u64,
    },
    /// The run must be ended: it would hold too much.
    #[error("part {number} would make {what} more than {most}: end the run")]
    TooLarge {
        /// Its number.
        number: u64,
        /// What there would be too much of.
        what: &'static str,
        /// The bound.
        most: usize,
    },
    /// The part makes no sense where it stands: whoever made it must be mended.
    #[error("part {number} {rule}")]
    Malformed {
        /// Its number.
        number: u64,
        /// What is wrong with it.
        rule: &'static str,
    },
}

/// The parts of one run so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFold {
    started: RunStarted,
    last_number: u64,
    settled: Vec<Fact>,
    settled_bytes: usize,
    step: OpenStep,
    end: Option<RunEnd>,
}

impl RunFold {
    /// A run of which no part has come yet. `started` is the recorded event: everybody who folds the run gets equal facts.
    #[must_use]
    pub fn new(started: RunStarted) -> Self {
        Self {
            started,
            last_number: 0,
            settled: Vec::new(),
            settled_bytes: 0,
            step: OpenStep::default(),
            end: None,
        }
    }

    /// Takes the next part. One that was taken before is ignored.
    ///
    /// # Errors
    /// A [`FoldError`]; the fold stays as it was.
    pub fn absorb(&mut self, part: &RunPart) -> Result<(), FoldError> {
        let number = part.number;
        if number <= self.last_number {
            return Ok(());
        }
        if self.end.is_some() {
            return Err(FoldError::AfterEnd { number });
        }
        if number != self.next_number() {
            return Err(FoldError::Gap {
                expected: self.next_number(),
                found: number,
            });
        }
        self.check_bounds(part)?;
        self.take(part)?;
        self.last_number = number;
        Ok(())
    }

    /// What is recorded at the run's end, before `RunFinished`: finished steps and results in their order, the words of
    /// the unfinished step as one message, and the error. Calls of an unfinished step are left out.
    #[must_use]
    pub fn facts(&self) -> Vec<Fact> {
        let error = self.end.as_ref().and_then(|end| end.error.clone());
        let unfinished = self.unfinished_message().into_iter();
        let rest = unfinished.chain(error.map(Fact::from));
        self.settled.iter().cloned().chain(rest).collect()
    }

    /// What finished steps and results came to.
    #[must_use]
    pub fn settled(&self) -> &[Fact] {
        &self.settled
    }

    /// What has been streamed of the step under way; `None` once the run is over.
    #[must_use]
    pub fn open_step(&self) -> Option<&OpenStep> {
        self.end.is_none().then_some(&self.step)
    }

    /// How the run ended; `None` while it goes on.
    #[must_use]
    pub fn end(&self) -> Option<&RunEnd> {
        self.end.as_ref()
    }

    /// The number that the next part has.
    #[must_use]
    pub fn next_number(&self) -> u64 {
        self.last_number.saturating_add(1)
    }

    /// The run, as it was recorded.
    #[must_use]
    pub fn started(&self) -> &RunStarted {
        &self.started
    }

    fn check_bounds(&self, part: &RunPart) -> Result<(), FoldError> {
        let at_most = |what, count: usize, most: usize| {
            if count > most {
                Err(FoldError::TooLarge {
                    number: part.number,
                    what,
                    most,
                })
            } else {
                Ok(())
            }
        };
        if let Some((kind, text)) = WordsKind::of(&part.kind) {
            let words = self.step.words_bytes().saturating_add(text.len());
            at_most("the step's bytes", words, STEP_WORDS_BYTES_MAX)?;
            let pieces = self.step.pieces_with(kind);
            at_most("the step's pieces", pieces, STEP_PIECES_MAX)?;
        }
        let (facts, bytes) = match &part.kind {
            RunPartKind::CallBegan { .. } => {
                let pieces = self.step.pieces().len() + 1;
                at_most("the step's pieces", pieces, STEP_PIECES_MAX)?;
                (0, self.step.bytes())
            }
            RunPartKind::CallInput { fragment, .. } => {
                (0, self.step.bytes().saturating_add(fragment.len()))
            }
            // The step's facts take the place of what was streamed of it.
            RunPartKind::StepFinished(facts) => (facts.len(), facts.iter().map(fact_bytes).sum()),
            RunPartKind::ToolReturned(result) => {
                let bytes = self.step.bytes();
                (1, bytes.saturating_add(output_bytes(&result.output)))
            }
            RunPartKind::TextDelta(text)
            | RunPartKind::ThinkingDelta(text)
            | RunPartKind::RefusalDelta(text) => (0, self.step.bytes().saturating_add(text.len())),
            // An end adds nothing that was not counted, and must always be taken.
            RunPartKind::KeptAlive | RunPartKind::RunEnded(_) => return Ok(()),
        };
        at_most("events", self.settled.len() + facts, RUN_FACTS_MAX)?;
        at_most(
            "bytes",
            self.settled_bytes.saturating_add(bytes),
            RUN_BYTES_MAX,
        )
    }

    fn take(&mut self, part: &RunPart) -> Result<(), FoldError> {
        let malformed = |rule| FoldError::Malformed {
            number: part.number,
            rule,
        };
        if let Some((kind, words)) = WordsKind::of(&part.kind) {
            self.step.say(kind, words);
        }
        match &part.kind {
            RunPartKind::CallBegan {
                index,
                call_id,
                tool_name,
            } => {
                if self.step.call_mut(*index).is_some() {
                    return Err(malformed("begins a call of the step that began before"));
                }
                self.step.begin(StreamedCall {
                    index: *index,
                    call_id: call_id.clone(),
                    tool_name: tool_name.clone(),
                    input: String::new(),
                });
            }
            RunPartKind::CallInput { index, fragment } => self
                .step
                .extend(*index, fragment)
                .ok_or_else(|| malformed("goes on with a call that never began"))?,
            RunPartKind::StepFinished(facts) => {
                if !facts.iter().all(is_of_a_step) {
                    return Err(malformed("finishes a step with what no model says"));
                }
                self.settle(facts);
                self.step = OpenStep::default();
            }
            RunPartKind::ToolReturned(result) => {
                self.settle(&[Fact::ToolReturned(result.clone())]);
            }
            RunPartKind::RunEnded(end) => self.end = Some(end.clone()),
            RunPartKind::TextDelta(_)
            | RunPartKind::ThinkingDelta(_)
            | RunPartKind::RefusalDelta(_)
            | RunPartKind::KeptAlive => {}
        }
        Ok(())
    }

    fn settle(&mut self, facts: &[Fact]) {
        let bytes: usize = facts.iter().map(fact_bytes).sum();
        self.settled_bytes = self.settled_bytes.saturating_add(bytes);
        self.settled.extend_from_slice(facts);
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
        }))
    }
}

fn is_of_a_step(fact: &Fact) -> bool {
    match fact {
        Fact::MessageAppended(message) => message.role == Role::Assistant,
        Fact::ToolCalled(_) => true,
        Fact::ToolReturned(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => false,
    }
}

#[cfg(test)]
mod tests;
