//! Calls of tools and what they gave back, as pages keep them.

use domain::{CallId, JsonText, ToolName};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::UiPart;

/// A call of a tool and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolPart {
    /// The tool.
    #[serde(rename = "type", serialize_with = "write_tool_type")]
    pub tool_name: ToolName,
    /// The call.
    #[serde(serialize_with = "write_call_id")]
    pub tool_call_id: CallId,
    /// How far it has come.
    #[serde(flatten)]
    pub state: ToolState,
}

/// How far a call has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(
    tag = "state",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum ToolState {
    /// The model still writes its input.
    InputStreaming {
        /// The JSON text so far.
        #[serde(skip_serializing_if = "String::is_empty")]
        raw_input: String,
    },
    /// It waits for its result.
    InputAvailable {
        /// Its input.
        input: Json,
    },
    /// It waits for a person's consent.
    ApprovalRequested {
        /// Its input.
        input: Json,
        /// The question.
        approval: UiApproval,
    },
    /// The tool did its work.
    OutputAvailable {
        /// Its input.
        input: Json,
        /// What came back.
        output: ToolValue,
    },
    /// The tool failed.
    OutputError {
        /// Its input.
        input: Json,
        /// What the tool said of it.
        error_text: String,
    },
    /// A person refused.
    OutputDenied {
        /// Its input.
        input: Json,
        /// The question and its answer.
        approval: UiApproval,
    },
}

impl ToolState {
    /// The call's input, once it is complete.
    #[must_use]
    pub fn input(&self) -> Option<&Json> {
        match self {
            Self::InputStreaming { .. } => None,
            Self::InputAvailable { input }
            | Self::ApprovalRequested { input, .. }
            | Self::OutputAvailable { input, .. }
            | Self::OutputError { input, .. }
            | Self::OutputDenied { input, .. } => Some(input),
        }
    }
}

/// A question for a person's consent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UiApproval {
    /// Its id: the call's.
    pub id: String,
    /// The answer, once it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved: Option<bool>,
    /// Why, in the person's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a tool gave back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ToolValue {
    /// A document.
    Json(Json),
    /// Text.
    Text(String),
    /// Texts and files.
    Parts(Vec<UiPart>),
}

/// A JSON document, written as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Json(pub JsonText);

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let document: &RawValue = serde_json::from_str(self.0.as_str())
            .map_err(|_| S::Error::custom("a recorded document is not JSON"))?;
        document.serialize(serializer)
    }
}

fn write_tool_type<S: Serializer>(tool: &ToolName, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("tool-{tool}"))
}

pub(crate) fn write_call_id<S: Serializer>(
    call: &CallId,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(call.as_str())
}
