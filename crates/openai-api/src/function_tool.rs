//! A function that the caller runs, as OpenAI's APIs describe it.

use domain::{JsonText, ToolName, Violation, ViolationReason};
use formats::{TOOLS_MAX, Tool};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::verbatim::verbatim;
use crate::wrong_field::wrong;

/// The schema of a function without parameters.
const NO_PARAMETERS: &str = r#"{"type":"object","properties":{}}"#;

/// A function that the model may call.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct FunctionTool {
    /// Its name; 1 to 256 bytes.
    name: String,
    /// What it does, for the model.
    description: Option<String>,
    /// The JSON schema of its input: an object.
    #[schema(value_type = Option<Object>)]
    parameters: Option<Box<RawValue>>,
    /// Whether the model server must enforce the schema.
    strict: Option<bool>,
}

impl FunctionTool {
    /// The tool as model servers get it.
    ///
    /// # Errors
    /// The name or the schema is invalid.
    pub(crate) fn tool(&self) -> Result<Tool, Violation> {
        let schema = match &self.parameters {
            Some(parameters) => verbatim(parameters),
            None => JsonText::parse(NO_PARAMETERS),
        };
        Ok(Tool {
            name: ToolName::parse(self.name.as_str()).map_err(|violation| violation.within("name"))?,
            description: self.description.clone().unwrap_or_default(),
            input_schema: schema.map_err(|violation| violation.within("parameters"))?,
            strict: self.strict.unwrap_or_default(),
        })
    }
}

/// Checks the number of tools of a request.
///
/// # Errors
/// 400: there are more than [`TOOLS_MAX`].
pub(crate) fn check_count(count: usize) -> Result<(), Violation> {
    if count <= TOOLS_MAX {
        return Ok(());
    }
    let rule = format!("has {count} entries, the maximum is {TOOLS_MAX}");
    Err(wrong(ViolationReason::OutOfRange, "tools", &rule))
}

/// The name of the tool of the request with this name.
///
/// # Errors
/// 400: the request has no such tool.
pub(crate) fn named(tools: &[Tool], name: &str) -> Result<ToolName, Violation> {
    let mut names = tools.iter().map(|tool| &tool.name);
    let found = names.find(|known| known.as_str() == name);
    found.cloned().ok_or_else(|| invalid_choice("names no tool of the request"))
}

/// The problem of a choice of tools.
#[must_use]
pub(crate) fn invalid_choice(rule: &str) -> Violation {
    wrong(ViolationReason::Malformed, "tool_choice", rule)
}
