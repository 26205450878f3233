//! UI messages of the AI SDK.

mod tool;

use domain::RunOutcome;
use serde::{Serialize, Serializer};

pub(crate) use tool::write_call_id;
pub use tool::{Json, ToolPart, ToolState, ToolValue, UiApproval};

/// One message of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UiMessage {
    /// A stable id: of a user message, the id of its event; of an assistant message, the id of the run that opened it, or of
    /// its first event if no run did.
    pub id: String,
    /// The role.
    pub role: UiRole,
    /// The metadata.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<UiMetadata>,
    /// The parts, in order.
    pub parts: Vec<UiPart>,
}

/// The role of a message. Pages show no instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UiRole {
    /// The user.
    User,
    /// The model and its tools.
    Assistant,
}

/// The metadata of an assistant message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct UiMetadata {
    /// The outcome of its last run.
    #[serde(serialize_with = "write_outcome")]
    pub outcome: RunOutcome,
    /// The error text for the page; `null` without an error, because pages merge metadata and must drop an earlier text.
    #[serde(rename = "errorText")]
    pub error_text: Option<&'static str>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum UiPart {
    /// The start of a step of the model.
    StepStart,
    /// A text or a refusal.
    Text {
        /// The text.
        text: String,
        /// Whether it is complete; `None` for a user's text.
        #[serde(skip_serializing_if = "Option::is_none")]
        state: Option<TextState>,
    },
    /// A thought.
    Reasoning {
        /// The thought.
        text: String,
        /// Whether it is complete.
        state: TextState,
    },
    /// An image or another file.
    File {
        /// Its media type.
        media_type: String,
        /// Its name.
        #[serde(skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
        /// Its URL.
        url: String,
    },
    /// A tool call and its result.
    #[serde(untagged)]
    Tool(ToolPart),
    /// A `data-…` part, as the client sent it.
    #[serde(untagged)]
    Data(Json),
}

/// Whether a text is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TextState {
    /// More may follow.
    Streaming,
    /// It is complete.
    Done,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn write_outcome<S: Serializer>(outcome: &RunOutcome, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(outcome.as_str())
}

#[cfg(test)]
mod tests {
    use domain::{CallId, JsonText, ToolName};

    use super::*;

    fn check(part: &UiPart, expected: &str) {
        assert_eq!(serde_json::to_string(part).unwrap(), expected);
    }

    fn tool(state: ToolState) -> UiPart {
        UiPart::Tool(ToolPart {
            tool_name: ToolName::parse("get-time").unwrap(),
            tool_call_id: CallId::parse("c1").unwrap(),
            state,
        })
    }

    fn json(text: &str) -> Json {
        Json(JsonText::parse(text).unwrap())
    }

    #[test]
    fn parts_have_the_json_of_the_sdk() {
        check(&UiPart::StepStart, r#"{"type":"step-start"}"#);
        check(
            &UiPart::Text { text: "a".to_owned(), state: Some(TextState::Streaming) },
            r#"{"type":"text","text":"a","state":"streaming"}"#,
        );
        check(
            &UiPart::File { media_type: "image/png".to_owned(), filename: None, url: "https://x".to_owned() },
            r#"{"type":"file","mediaType":"image/png","url":"https://x"}"#,
        );
    }

    #[test]
    fn calls_are_written_with_their_documents_verbatim() {
        check(
            &tool(ToolState::InputStreaming { raw_input: "{\"a".to_owned() }),
            r#"{"type":"tool-get-time","toolCallId":"c1","state":"input-streaming","rawInput":"{\"a"}"#,
        );
        check(
            &tool(ToolState::OutputAvailable {
                input: json(" {\"a\":1e400}"),
                output: ToolValue::Json(json("123456789012345678901234567890")),
            }),
            r#"{"type":"tool-get-time","toolCallId":"c1","state":"output-available","input":{"a":1e400},"output":123456789012345678901234567890}"#,
        );
        check(
            &tool(ToolState::OutputDenied {
                input: json("{}"),
                approval: UiApproval { id: "c1".to_owned(), approved: Some(false), reason: None },
            }),
            r#"{"type":"tool-get-time","toolCallId":"c1","state":"output-denied","input":{},"approval":{"id":"c1","approved":false}}"#,
        );
    }
}
