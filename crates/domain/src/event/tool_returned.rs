//! A tool answered.

use crate::content::Part;
use crate::id::{CallId, ToolName};
use crate::json::JsonText;

/// The result of an open call; closes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ToolReturned {
    /// The call that it answers.
    pub call_id: CallId,
    /// The tool: the one that was called. Callers may leave it out; a recorded result always has it.
    pub tool_name: Option<ToolName>,
    /// What came back.
    pub output: ToolOutput,
    /// Whether the tool did its work.
    pub outcome: ToolOutcome,
}

/// What a tool gives back.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ToolOutput {
    /// A JSON document, verbatim.
    Json(JsonText),
    /// Texts, pictures and files.
    Parts(Vec<Part>),
}

/// Whether a tool did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ToolOutcome {
    /// It did.
    Succeeded,
    /// It did not; the output says why.
    Failed,
}
