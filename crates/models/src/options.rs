//! Options of requests that only some kinds of servers have. Their names are those of chat completions.

use domain::{JsonText, ToolName};

/// Options of a request; absent: the server's default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestOptions {
    /// Which tools the model may or must call.
    pub tool_choice: Option<ToolChoice>,
    /// Whether one reply may have several calls.
    pub parallel_tool_calls: Option<bool>,
    /// The form of the answer, as chat completions write it: an object.
    pub response_format: Option<JsonText>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// The seed of the sampling.
    pub seed: Option<i64>,
    /// Texts that end the answer.
    pub stop: Vec<String>,
    /// The penalty of tokens that occur.
    pub presence_penalty: Option<f64>,
    /// The penalty of tokens by their number.
    pub frequency_penalty: Option<f64>,
    /// The effort of thoughts, as the server names it.
    pub reasoning_effort: Option<String>,
}

/// Which tools the model may or must call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// No tool.
    None,
    /// At least one tool.
    Required,
    /// This tool, one of the request's.
    Tool(ToolName),
}
