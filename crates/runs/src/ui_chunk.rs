//! Chunks of the AI SDK's UI message stream that AI SDK 6 and 7 have in common.

use domain::{CallId, ToolName};
use serde::{Serialize, Serializer};

use crate::ui_message::{Json, ToolValue, UiMetadata, write_call_id};

/// One chunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum UiChunk {
    /// Starts an assistant message, or continues the one with this id.
    Start {
        /// The message.
        message_id: String,
    },
    /// Starts a step of the model.
    StartStep,
    /// Ends a step of the model.
    FinishStep,
    /// Starts a text.
    TextStart {
        /// Its id in the message.
        id: String,
    },
    /// Appends to a text.
    TextDelta {
        /// The text.
        id: String,
        /// The appended text.
        delta: String,
    },
    /// Ends a text.
    TextEnd {
        /// The text.
        id: String,
    },
    /// Starts a thought.
    ReasoningStart {
        /// Its id in the message.
        id: String,
    },
    /// Appends to a thought.
    ReasoningDelta {
        /// The thought.
        id: String,
        /// The appended text.
        delta: String,
    },
    /// Ends a thought.
    ReasoningEnd {
        /// The thought.
        id: String,
    },
    /// An image or another file.
    File {
        /// Its URL.
        url: String,
        /// Its media type.
        media_type: String,
    },
    /// Starts a tool call.
    ToolInputStart {
        /// The call.
        #[serde(serialize_with = "write_call_id")]
        tool_call_id: CallId,
        /// The tool.
        #[serde(serialize_with = "write_tool_name")]
        tool_name: ToolName,
    },
    /// Appends to the input of a call.
    ToolInputDelta {
        /// The call.
        #[serde(serialize_with = "write_call_id")]
        tool_call_id: CallId,
        /// The appended JSON text.
        input_text_delta: String,
    },
    /// The input of a call is complete.
    ToolInputAvailable {
        /// The call.
        #[serde(serialize_with = "write_call_id")]
        tool_call_id: CallId,
        /// The tool.
        #[serde(serialize_with = "write_tool_name")]
        tool_name: ToolName,
        /// Its input.
        input: Json,
    },
    /// A call waits for approval.
    ToolApprovalRequest {
        /// The id of the approval: the id of the call.
        approval_id: String,
        /// The call.
        #[serde(serialize_with = "write_call_id")]
        tool_call_id: CallId,
    },
    /// A tool succeeded.
    ToolOutputAvailable {
        /// The call.
        #[serde(serialize_with = "write_call_id")]
        tool_call_id: CallId,
        /// The output.
        output: ToolValue,
    },
    /// A tool failed.
    ToolOutputError {
        /// The call.
        #[serde(serialize_with = "write_call_id")]
        tool_call_id: CallId,
        /// The tool's error text.
        error_text: String,
    },
    /// A person denied the call.
    ToolOutputDenied {
        /// The call.
        #[serde(serialize_with = "write_call_id")]
        tool_call_id: CallId,
    },
    /// Metadata of the message.
    MessageMetadata {
        /// The client merges it into the existing metadata.
        message_metadata: UiMetadata,
    },
    /// The answer is complete.
    Finish {
        /// Why the model stopped.
        finish_reason: FinishReason,
    },
    /// The run was stopped.
    Abort,
    /// The run failed.
    Error {
        /// The error text for the page.
        error_text: String,
    },
    /// A `data-…` part, as it was recorded.
    #[serde(untagged)]
    Data(Json),
}

/// The finish reasons of the AI SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FinishReason {
    /// The answer is complete.
    Stop,
    /// The token limit was reached.
    Length,
    /// The model refused, or a filter of the provider applied.
    ContentFilter,
    /// The model waits for tools.
    ToolCalls,
    /// Another reason.
    Other,
}

fn write_tool_name<S: Serializer>(tool: &ToolName, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(tool.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(chunk: &UiChunk, expected: &str) {
        assert_eq!(serde_json::to_string(chunk).unwrap(), expected);
    }

    #[test]
    fn chunks_have_the_json_of_the_sdk() {
        check(&UiChunk::Start { message_id: "m".to_owned() }, r#"{"type":"start","messageId":"m"}"#);
        check(&UiChunk::StartStep, r#"{"type":"start-step"}"#);
        check(&UiChunk::Abort, r#"{"type":"abort"}"#);
        check(
            &UiChunk::ToolInputDelta { tool_call_id: CallId::parse("c").unwrap(), input_text_delta: "{".to_owned() },
            r#"{"type":"tool-input-delta","toolCallId":"c","inputTextDelta":"{"}"#,
        );
        check(
            &UiChunk::ToolOutputAvailable {
                tool_call_id: CallId::parse("c").unwrap(),
                output: ToolValue::Text("a".to_owned()),
            },
            r#"{"type":"tool-output-available","toolCallId":"c","output":"a"}"#,
        );
        check(
            &UiChunk::Finish { finish_reason: FinishReason::ContentFilter },
            r#"{"type":"finish","finishReason":"content-filter"}"#,
        );
    }
}
