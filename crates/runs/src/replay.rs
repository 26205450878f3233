//! Turns a complete message into the chunks that build it.

use crate::ui_chunk::UiChunk;
use crate::ui_message::{ToolPart, ToolState, UiMessage, UiPart};
use crate::ui_stream::{state_chunk, whole};

/// The chunks from which a client builds the message, from `start` to its last step, without `finish`.
///
/// A client that reconnects drops its last message. If the run continues a message, the client gets these chunks first and
/// the chunks of the run after them.
#[must_use]
pub fn replay(message: &UiMessage) -> Vec<UiChunk> {
    let mut chunks = vec![UiChunk::Start { message_id: message.id.clone() }];
    if let Some(message_metadata) = message.metadata {
        chunks.push(UiChunk::MessageMetadata { message_metadata });
    }
    let mut in_step = false;
    for (index, part) in message.parts.iter().enumerate() {
        match part {
            UiPart::StepStart => {
                if in_step {
                    chunks.push(UiChunk::FinishStep);
                }
                chunks.push(UiChunk::StartStep);
                in_step = true;
            }
            UiPart::Tool(tool) => chunks.extend(tool_chunks(tool)),
            UiPart::Text { .. } | UiPart::Reasoning { .. } | UiPart::File { .. } | UiPart::Data(_) => {
                chunks.extend(whole(part, format!("r{index}")));
            }
        }
    }
    if in_step {
        chunks.push(UiChunk::FinishStep);
    }
    chunks
}

fn tool_chunks(tool: &ToolPart) -> Vec<UiChunk> {
    let complete = tool.state.input().map(|input| UiChunk::ToolInputAvailable {
        tool_call_id: tool.tool_call_id.clone(),
        tool_name: tool.tool_name.clone(),
        input: input.clone(),
    });
    // The client shows a denial with the approval request that it answers.
    let mut request = None;
    if let ToolState::OutputDenied { approval, .. } = &tool.state {
        request = Some(UiChunk::ToolApprovalRequest {
            approval_id: approval.id.clone(),
            tool_call_id: tool.tool_call_id.clone(),
        });
    }
    let state = state_chunk(&tool.tool_call_id, &tool.state);
    complete.into_iter().chain(request).chain(state).collect()
}
