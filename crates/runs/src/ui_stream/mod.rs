//! The chunks that a run's parts say to a page: a pure state machine.
//!
//! The same parts give the same chunks: who lost the stream after part n builds the machine anew, pushes the parts up to n,
//! and goes on. Texts and thoughts are always ended, also where the run is stopped or fails. The input of a call that is
//! cut off has no end, as in the SDK: a call that ended in an error would make clients send its "result" back at once.

mod step;

use std::collections::HashSet;

use domain::event::{Fact, ToolCalled, ToolReturned};
use domain::{CallId, Label, RunEnd, RunId, RunPart, RunPartKind};

use step::StepSoFar;
pub(crate) use step::whole;

use crate::approvals::Approvals;
use crate::ending;
use crate::shown;
use crate::step::WordsKind;
use crate::ui_chunk::{FinishReason, UiChunk};
use crate::ui_message::{Json, ToolState, UiMessage, UiPart};

/// The stream of one run.
#[derive(Debug)]
pub struct UiStream {
    message_id: String,
    approvals: Approvals,
    /// Calls that the page knows: a result of any other makes the client throw.
    known: HashSet<CallId>,
    step: StepSoFar,
    /// Why the last finished step stopped.
    finish_reason: Option<FinishReason>,
    over: bool,
}

impl UiStream {
    /// The stream of a run that begins a message of its own, or goes on with `continued`
    /// (see [`crate::page::continued`]).
    #[must_use]
    pub fn new(run: RunId, continued: Option<&UiMessage>, approvals: Approvals) -> Self {
        let call_of = |part: &UiPart| match part {
            UiPart::Tool(tool) => Some(tool.tool_call_id.clone()),
            UiPart::StepStart
            | UiPart::Text { .. }
            | UiPart::Reasoning { .. }
            | UiPart::File { .. } => None,
        };
        let parts = continued.map(|message| message.parts.as_slice());
        Self {
            message_id: continued.map_or_else(|| run.to_string(), |message| message.id.clone()),
            approvals,
            known: parts
                .unwrap_or_default()
                .iter()
                .filter_map(call_of)
                .collect(),
            step: StepSoFar::default(),
            finish_reason: None,
            over: false,
        }
    }

    /// What is said before the first part. A page that reads the run from the beginning without having the message that
    /// it goes on with gets [`crate::replay()`] of that message instead.
    #[must_use]
    pub fn opening(&self) -> UiChunk {
        UiChunk::Start {
            message_id: self.message_id.clone(),
        }
    }

    /// Whether the run's end was said: nothing follows but the stream's own end.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// What the next part says; parts come in order, each once. Nothing follows an end.
    pub fn push(&mut self, part: &RunPart) -> Vec<UiChunk> {
        let mut chunks = Vec::new();
        if self.over {
            return chunks;
        }
        if let Some((kind, words)) = WordsKind::of(&part.kind) {
            self.step.say(kind, words, part.number, &mut chunks);
        }
        match &part.kind {
            RunPartKind::CallBegan {
                index,
                call_id,
                tool_name,
            } => {
                self.step.begin(&mut chunks);
                self.step.calls.insert(*index, call_id.clone());
                self.known.insert(call_id.clone());
                chunks.push(UiChunk::ToolInputStart {
                    tool_call_id: call_id.clone(),
                    tool_name: tool_name.clone(),
                });
            }
            RunPartKind::CallInput { index, fragment } => {
                if let Some(call) = self.step.calls.get(index) {
                    chunks.push(UiChunk::ToolInputDelta {
                        tool_call_id: call.clone(),
                        input_text_delta: fragment.clone(),
                    });
                }
            }
            RunPartKind::StepFinished(facts) => self.finish_step(facts, part.number, &mut chunks),
            RunPartKind::ToolReturned(result) => chunks.extend(self.answer(result)),
            RunPartKind::RunEnded(end) => self.end(end, &mut chunks),
            RunPartKind::TextDelta(_)
            | RunPartKind::ThinkingDelta(_)
            | RunPartKind::RefusalDelta(_)
            | RunPartKind::KeptAlive => {}
        }
        chunks
    }

    fn finish_step(&mut self, facts: &[Fact], number: u64, chunks: &mut Vec<UiChunk>) {
        self.step.close(chunks);
        let mut given: Option<Label> = None;
        let mut default = FinishReason::Stop;
        for fact in facts {
            match fact {
                Fact::MessageAppended(message) => {
                    given = message.finish_reason.clone().or(given);
                    self.step.show(message, number, chunks);
                }
                Fact::ToolCalled(call) => {
                    default = FinishReason::ToolCalls;
                    self.complete_call(call, chunks);
                }
                // A step holds nothing else.
                Fact::ToolReturned(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => {}
            }
        }
        self.finish_reason = Some(ending::finish_reason(given.as_ref(), default));
        self.step.finish(chunks);
    }

    fn complete_call(&mut self, call: &ToolCalled, chunks: &mut Vec<UiChunk>) {
        self.step.begin(chunks);
        self.known.insert(call.call_id.clone());
        chunks.push(UiChunk::ToolInputAvailable {
            tool_call_id: call.call_id.clone(),
            tool_name: call.tool_name.clone(),
            input: Json(call.input.clone()),
        });
        chunks.extend(state_chunk(
            &call.call_id,
            &shown::call(call, &self.approvals),
        ));
    }

    fn answer(&self, result: &ToolReturned) -> Option<UiChunk> {
        if !self.known.contains(&result.call_id) {
            return None;
        }
        // What a result says does not depend on the input, which the page has.
        let input = Json(domain::JsonText::recorded("null".to_owned()));
        state_chunk(&result.call_id, &shown::answered(input, result))
    }

    fn end(&mut self, end: &RunEnd, chunks: &mut Vec<UiChunk>) {
        self.step.finish(chunks);
        let reason = self.finish_reason.unwrap_or(FinishReason::Other);
        chunks.extend(ending::chunks(end, reason));
        self.over = true;
    }
}

/// What a page must be told of a call beyond its input.
pub(crate) fn state_chunk(call_id: &CallId, state: &ToolState) -> Option<UiChunk> {
    let tool_call_id = call_id.clone();
    match state {
        ToolState::InputStreaming { .. } | ToolState::InputAvailable { .. } => None,
        ToolState::ApprovalRequested { approval, .. } => Some(UiChunk::ToolApprovalRequest {
            approval_id: approval.id.clone(),
            tool_call_id,
        }),
        ToolState::OutputAvailable { output, .. } => Some(UiChunk::ToolOutputAvailable {
            tool_call_id,
            output: output.clone(),
        }),
        ToolState::OutputError { error_text, .. } => Some(UiChunk::ToolOutputError {
            tool_call_id,
            error_text: error_text.clone(),
        }),
        ToolState::OutputDenied { .. } => Some(UiChunk::ToolOutputDenied { tool_call_id }),
    }
}
