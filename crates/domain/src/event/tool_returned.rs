//! A tool returned a result.

use crate::content::Part;
use crate::id::{CallId, ToolName};
use crate::json::JsonText;

/// The result of an open call; closes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ToolReturned {
    /// The call.
    pub call_id: CallId,
    /// The tool of the call. Callers may omit it; a recorded result always has it.
    pub tool_name: Option<ToolName>,
    /// Its output.
    pub output: ToolOutput,
    /// Whether the tool succeeded.
    pub outcome: ToolOutcome,
}

/// The output of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ToolOutput {
    /// A JSON document, verbatim.
    Json(JsonText),
    /// Texts, pictures and files.
    Parts(Vec<Part>),
}

/// Whether a tool succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ToolOutcome {
    /// It succeeded.
    Succeeded,
    /// It failed; the output contains the reason.
    Failed,
}
