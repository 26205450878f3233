//! The model called a tool.

use crate::id::{CallId, Label, ToolName};
use crate::json::JsonText;

/// A call that waits for its result. Calls that follow an assistant's message belong to its turn.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ToolCalled {
    /// The call's id, as the provider names it.
    pub call_id: CallId,
    /// The tool.
    pub tool_name: ToolName,
    /// Its input, verbatim.
    pub input: JsonText,
    /// The model that called.
    pub model: Option<Label>,
    /// Whose model it was, as `formats` names its providers: only they take back a signature of their own.
    pub provider: Option<Label>,
    /// The provider's id of the response that it came with.
    pub provider_response_id: Option<Label>,
    /// The provider's signature of the call, verbatim (Gemini's thought signature, for one).
    pub signature: Option<String>,
}
