//! Tool calls and results in UI messages.

use domain::{CallId, JsonText, ToolName};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::UiPart;

/// A tool call and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolPart {
    /// The tool.
    #[serde(rename = "type", serialize_with = "write_tool_type")]
    pub tool_name: ToolName,
    /// The call.
    #[serde(serialize_with = "write_call_id")]
    pub tool_call_id: CallId,
    /// The state of the call.
    #[serde(flatten)]
    pub state: ToolState,
}

/// The state of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ToolState {
    /// The input is not complete.
    InputStreaming {
        /// The received JSON text.
        #[serde(skip_serializing_if = "String::is_empty")]
        raw_input: String,
    },
    /// The call waits for its result.
    InputAvailable {
        /// Its input.
        input: Json,
    },
    /// The call waits for approval.
    ApprovalRequested {
        /// Its input.
        input: Json,
        /// The approval request.
        approval: UiApproval,
    },
    /// The tool succeeded.
    OutputAvailable {
        /// Its input.
        input: Json,
        /// The output.
        output: ToolValue,
    },
    /// The tool failed.
    OutputError {
        /// Its input.
        input: Json,
        /// The tool's error text.
        error_text: String,
    },
    /// A person denied the call.
    OutputDenied {
        /// Its input.
        input: Json,
        /// The approval request and its answer.
        approval: UiApproval,
    },
}

impl ToolState {
    /// The input of the call; `None` until it is complete.
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

/// An approval request and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UiApproval {
    /// The id of the call.
    pub id: String,
    /// The answer; `None` until there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved: Option<bool>,
    /// The person's reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The output of a tool.
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

/// A JSON document, which is written as recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Json(pub JsonText);

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let document: &RawValue =
            serde_json::from_str(self.0.as_str()).map_err(|_| S::Error::custom("a recorded document is not JSON"))?;
        document.serialize(serializer)
    }
}

fn write_tool_type<S: Serializer>(tool: &ToolName, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("tool-{tool}"))
}

pub(crate) fn write_call_id<S: Serializer>(call: &CallId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(call.as_str())
}
