//! Turns the parts of a run into the chunks of a page: a pure state machine.
//!
//! Equal parts give equal chunks: to resume after part n, create a new stream and push the parts up to n. Texts and thoughts
//! always end, also if the run is stopped or fails. An incomplete input of a call does not end, as in the SDK: if it ended
//! with an error, clients would immediately send that error as a result.

mod step;

use std::collections::HashSet;

use domain::event::{Fact, ToolCalled, ToolReturned};
use domain::{CallId, RunEnd, RunId, RunPart, RunPartKind};

use step::StepStream;
pub(crate) use step::whole;

use crate::approvals::Approvals;
use crate::run_end;
use crate::step::DeltaKind;
use crate::ui_chunk::{FinishReason, UiChunk};
use crate::ui_message::{Json, ToolState, UiMessage, UiPart};
use crate::ui_part;

/// The stream of one run.
#[derive(Debug)]
pub struct UiStream {
    message_id: String,
    approvals: Approvals,
    /// The calls of the message. For a result of another call the client would throw.
    known: HashSet<CallId>,
    step: StepStream,
    /// The finish reason of the last finished step.
    finish_reason: Option<FinishReason>,
    over: bool,
}

impl UiStream {
    /// The stream of a run that starts a message, or continues the message `continued`
    /// (see [`crate::page::continued_message`]).
    #[must_use]
    pub fn new(run: RunId, continued: Option<&UiMessage>, approvals: Approvals) -> Self {
        let call = |part: &UiPart| {
            let UiPart::Tool(tool) = part else {
                return None;
            };
            Some(tool.tool_call_id.clone())
        };
        let parts = continued.map_or(&[][..], |message| &message.parts);
        Self {
            message_id: continued.map_or_else(|| run.to_string(), |message| message.id.clone()),
            approvals,
            known: parts.iter().filter_map(call).collect(),
            step: StepStream::default(),
            finish_reason: None,
            over: false,
        }
    }

    /// The chunk before the first part. A page that does not have the continued message gets [`crate::replay()`] of that
    /// message instead.
    #[must_use]
    pub fn start_chunk(&self) -> UiChunk {
        UiChunk::Start { message_id: self.message_id.clone() }
    }

    /// Whether the run has ended. No chunk follows.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// The chunks of the next part. Push each part once, in order.
    pub fn push(&mut self, part: &RunPart) -> Vec<UiChunk> {
        let mut chunks = Vec::new();
        if self.over {
            return chunks;
        }
        if let Some((kind, delta)) = DeltaKind::from_part(&part.kind) {
            self.step.push_text(kind, delta, part.number, &mut chunks);
        }
        match &part.kind {
            RunPartKind::CallBegan { index, call_id, tool_name } => {
                self.step.begin(&mut chunks);
                self.step.calls.insert(*index, call_id.clone());
                self.known.insert(call_id.clone());
                chunks.push(UiChunk::ToolInputStart { tool_call_id: call_id.clone(), tool_name: tool_name.clone() });
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
            RunPartKind::ToolReturned(result) => chunks.extend(self.result_chunk(result)),
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
        for fact in facts {
            match fact {
                Fact::MessageAppended(message) => {
                    self.step.push_message(message, number, chunks);
                }
                Fact::ToolCalled(call) => {
                    self.complete_call(call, chunks);
                }
                // A step contains no other facts.
                Fact::ToolReturned(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => {}
            }
        }
        self.finish_reason = Some(FinishReason::of(facts));
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
        let state = ui_part::call(call, &self.approvals);
        chunks.extend(state_chunk(&call.call_id, &state));
    }

    fn result_chunk(&self, result: &ToolReturned) -> Option<UiChunk> {
        if !self.known.contains(&result.call_id) {
            return None;
        }
        // The chunk does not contain the input, which the page already has.
        let input = Json(domain::JsonText::recorded("null".to_owned()));
        state_chunk(&result.call_id, &ui_part::result_state(input, result))
    }

    fn end(&mut self, end: &RunEnd, chunks: &mut Vec<UiChunk>) {
        self.step.finish(chunks);
        let reason = self.finish_reason.unwrap_or(FinishReason::Other);
        chunks.extend(run_end::chunks(end, reason));
        self.over = true;
    }
}

/// The chunk of a call's state; `None` if the chunks of its input suffice.
pub(crate) fn state_chunk(call_id: &CallId, state: &ToolState) -> Option<UiChunk> {
    let tool_call_id = call_id.clone();
    match state {
        ToolState::InputStreaming { .. } | ToolState::InputAvailable { .. } => None,
        ToolState::ApprovalRequested { approval, .. } => {
            Some(UiChunk::ToolApprovalRequest { approval_id: approval.id.clone(), tool_call_id })
        }
        ToolState::OutputAvailable { output, .. } => {
            Some(UiChunk::ToolOutputAvailable { tool_call_id, output: output.clone() })
        }
        ToolState::OutputError { error_text, .. } => {
            Some(UiChunk::ToolOutputError { tool_call_id, error_text: error_text.clone() })
        }
        ToolState::OutputDenied { .. } => Some(UiChunk::ToolOutputDenied { tool_call_id }),
    }
}
