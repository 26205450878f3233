//! Messages in the form that the AI SDK's pages keep them in.

mod tool;

use domain::RunOutcome;
use serde::{Serialize, Serializer};

pub(crate) use tool::write_call_id;
pub use tool::{Json, ToolPart, ToolState, ToolValue, UiApproval};

/// One message of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UiMessage {
    /// Its id, the same at every reading: a user's message has its event's; the assistant's that of the run that began it, or of its first event where no run did.
    pub id: String,
    /// Who speaks.
    pub role: UiRole,
    /// What else is known of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<UiMetadata>,
    /// What it is made of, in order.
    pub parts: Vec<UiPart>,
}

/// Who speaks. Instructions are no part of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UiRole {
    /// The person.
    User,
    /// The model and its tools.
    Assistant,
}

/// What is known of an assistant's message beside its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct UiMetadata {
    /// How its last run ended.
    #[serde(serialize_with = "write_outcome")]
    pub outcome: RunOutcome,
    /// Why it failed or was cut off, as pages show it. `null` otherwise: pages merge metadata, and must forget an earlier one.
    #[serde(rename = "errorText")]
    pub error_text: Option<&'static str>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum UiPart {
    /// A step of the model begins.
    StepStart,
    /// Text; also a refusal.
    Text {
        /// The text.
        text: String,
        /// How far it has come; `None` of a user's.
        #[serde(skip_serializing_if = "Option::is_none")]
        state: Option<TextState>,
    },
    /// A thought.
    Reasoning {
        /// The thought.
        text: String,
        /// How far it has come.
        state: TextState,
    },
    /// A picture or another file.
    File {
        /// Its media type.
        media_type: String,
        /// Its name.
        #[serde(skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
        /// Where it is.
        url: String,
    },
    /// A call of a tool and its result.
    #[serde(untagged)]
    Tool(ToolPart),
}

/// How far a text has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TextState {
    /// More may follow.
    Streaming,
    /// It is complete.
    Done,
}

/// The outcome's name, as pages read it.
#[must_use]
pub fn outcome_name(outcome: RunOutcome) -> &'static str {
    match outcome {
        RunOutcome::Completed => "completed",
        RunOutcome::Stopped => "stopped",
        RunOutcome::Failed => "failed",
        RunOutcome::Abandoned => "abandoned",
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes fields by reference"
)]
fn write_outcome<S: Serializer>(outcome: &RunOutcome, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(outcome_name(*outcome))
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
    fn parts_are_written_as_the_sdk_reads_them() {
        check(&UiPart::StepStart, r#"{"type":"step-start"}"#);
        check(
            &UiPart::Text {
                text: "a".to_owned(),
                state: Some(TextState::Streaming),
            },
            r#"{"type":"text","text":"a","state":"streaming"}"#,
        );
        check(
            &UiPart::File {
                media_type: "image/png".to_owned(),
                filename: None,
                url: "https://x".to_owned(),
            },
            r#"{"type":"file","mediaType":"image/png","url":"https://x"}"#,
        );
    }

    #[test]
    fn calls_are_written_with_their_documents_verbatim() {
        check(
            &tool(ToolState::InputStreaming {
                raw_input: "{\"a".to_owned(),
            }),
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
                approval: UiApproval {
                    id: "c1".to_owned(),
                    approved: Some(false),
                    reason: None,
                },
            }),
            r#"{"type":"tool-get-time","toolCallId":"c1","state":"output-denied","input":{},"approval":{"id":"c1","approved":false}}"#,
        );
    }
}
