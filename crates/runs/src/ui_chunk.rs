//! Chunks of the AI SDK's UI message stream: those that its releases 6 and 7 have in common.

use domain::{CallId, ToolName};
use serde::{Serialize, Serializer};

use crate::ui_message::{Json, ToolValue, UiMetadata, write_call_id};

/// One chunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum UiChunk {
    /// The assistant's message begins, or goes on where the page has one of this id.
    Start {
        /// The message.
        message_id: String,
    },
    /// A step of the model begins.
    StartStep,
    /// A step of the model is complete.
    FinishStep,
    /// Text begins.
    TextStart {
        /// Its id in the message.
        id: String,
    },
    /// More of a text.
    TextDelta {
        /// Which text.
        id: String,
        /// What is added.
        delta: String,
    },
    /// A text is complete.
    TextEnd {
        /// Which text.
        id: String,
    },
    /// A thought begins.
    ReasoningStart {
        /// Its id in the message.
        id: String,
    },
    /// More of a thought.
    ReasoningDelta {
        /// Which thought.
        id: String,
        /// What is added.
        delta: String,
    },
    /// A thought is complete.
    ReasoningEnd {
        /// Which thought.
        id: String,
    },
    /// A picture or another file.
    File {
        /// Where it is.
        url: String,
        /// Its media type.
        media_type: String,
    },
    /// The model begins to call a tool.
    ToolInputStart {
        /// The call.
        #[serde(serialize_with = "write_call_id")]
        tool_call_id: CallId,
        /// The tool.
        #[serde(serialize_with = "write_tool_name")]
        tool_name: ToolName,
    },
    /// More of a call's input.
    ToolInputDelta {
        /// Which call.
        #[serde(serialize_with = "write_call_id")]
        tool_call_id: CallId,
        /// What is added to its JSON text.
        input_text_delta: String,
    },
    /// A call is complete.
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
    /// A call waits for a person's consent.
    ToolApprovalRequest {
        /// The question: the call's id.
        approval_id: String,
        /// The call.
        #[serde(serialize_with = "write_call_id")]
        tool_call_id: CallId,
    },
    /// A tool did its work.
    ToolOutputAvailable {
        /// The call.
        #[serde(serialize_with = "write_call_id")]
        tool_call_id: CallId,
        /// What came back.
        output: ToolValue,
    },
    /// A tool failed.
    ToolOutputError {
        /// The call.
        #[serde(serialize_with = "write_call_id")]
        tool_call_id: CallId,
        /// What the tool said of it.
        error_text: String,
    },
    /// A person refused the call.
    ToolOutputDenied {
        /// The call.
        #[serde(serialize_with = "write_call_id")]
        tool_call_id: CallId,
    },
    /// What is known of the message.
    MessageMetadata {
        /// It is merged into what was known.
        message_metadata: UiMetadata,
    },
    /// The answer is complete.
    Finish {
        /// Why the model stopped.
        finish_reason: FinishReason,
    },
    /// Somebody asked the run to stop.
    Abort,
    /// The run failed.
    Error {
        /// What the page may show of it.
        error_text: String,
    },
}

/// Why a model stopped, in the AI SDK's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FinishReason {
    /// It had said all.
    Stop,
    /// It ran out of room.
    Length,
    /// Its provider or itself refused.
    ContentFilter,
    /// It waits for tools.
    ToolCalls,
    /// Something else.
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
    fn chunks_are_written_as_the_sdk_reads_them() {
        check(
            &UiChunk::Start {
                message_id: "m".to_owned(),
            },
            r#"{"type":"start","messageId":"m"}"#,
        );
        check(&UiChunk::StartStep, r#"{"type":"start-step"}"#);
        check(&UiChunk::Abort, r#"{"type":"abort"}"#);
        check(
            &UiChunk::ToolInputDelta {
                tool_call_id: CallId::parse("c").unwrap(),
                input_text_delta: "{".to_owned(),
            },
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
            &UiChunk::Finish {
                finish_reason: FinishReason::ContentFilter,
            },
            r#"{"type":"finish","finishReason":"content-filter"}"#,
        );
    }
}
