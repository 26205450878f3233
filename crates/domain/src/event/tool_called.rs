//! The model called a tool.

use crate::id::{CallId, Label, ToolName};
use crate::json::JsonText;

/// A tool call, which is open until its result. Calls that follow an assistant's message belong to its turn.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ToolCalled {
    /// The provider's id of the call.
    pub call_id: CallId,
    /// The tool.
    pub tool_name: ToolName,
    /// Its input, verbatim.
    pub input: JsonText,
    /// The model that called.
    pub model: Option<Label>,
    /// The provider of the model, by its name in `formats`: only it accepts its own signature again.
    pub provider: Option<Label>,
    /// The provider's id of the response.
    pub provider_response_id: Option<Label>,
    /// The provider's signature of the call, verbatim (such as Gemini's thought signature).
    pub signature: Option<String>,
}

impl ToolCalled {
    /// A call with nothing but its id, its tool and its input.
    #[must_use]
    pub fn new(call_id: CallId, tool_name: ToolName, input: JsonText) -> Self {
        Self { call_id, tool_name, input, model: None, provider: None, provider_response_id: None, signature: None }
    }
}
