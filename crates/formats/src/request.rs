//! What a request to a model has besides its context. The names of options are those of chat completions.

use domain::{JsonText, ToolName};

/// Maximum number of tools of a request: the limit of the strictest provider.
pub const TOOLS_MAX: usize = 128;

/// A tool that a model may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// The recorded name.
    pub name: ToolName,
    /// The description for the model.
    pub description: String,
    /// The JSON schema of its input; an object.
    pub input_schema: JsonText,
    /// Whether the server must enforce the schema, if it can.
    pub strict: bool,
}

/// What a request sets instead of its agent's settings. Its tools replace those of the agent, and the caller runs them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestSettings {
    /// The model, on the server of the agent's model; `None`: the agent's. The caller checks that the agent allows it.
    pub model: Option<String>,
    /// Instructions, after those of the agent's context policy.
    pub instructions: Option<String>,
    /// The tools that the model may call; at most [`TOOLS_MAX`].
    pub tools: Vec<Tool>,
    /// Maximum number of tokens of the answer, in addition to the agent's.
    pub output_tokens_max: Option<u32>,
    /// The sampling temperature; `None`: the agent's.
    pub temperature: Option<f64>,
    /// Options that not every model server has.
    pub options: RequestOptions,
}

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
