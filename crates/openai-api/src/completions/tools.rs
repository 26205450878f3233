//! The tools of a request, which the caller runs.

use domain::Violation;
use formats::{Tool, ToolChoice};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::function_tool::{FunctionTool, check_count, invalid_choice, named};
use crate::wrong_field::not_supported;

/// A tool.
#[derive(Debug, Deserialize, ToSchema)]
pub struct CompletionTool {
    /// `function`; other kinds are not supported.
    r#type: String,
    /// The function.
    function: Option<FunctionTool>,
}

/// A mode, or one tool.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum ToolChoiceBody {
    /// `auto`, `none` or `required`.
    Mode(String),
    /// One tool.
    Named(NamedToolBody),
}

/// One tool by its name.
#[derive(Debug, Deserialize)]
pub struct NamedToolBody {
    r#type: String,
    function: Option<FunctionNameBody>,
}

#[derive(Debug, Deserialize)]
struct FunctionNameBody {
    name: String,
}

/// The tools of a request.
///
/// # Errors
/// 400: there are too many, one is not a function, or a field is invalid.
pub fn tools(given: &[CompletionTool]) -> Result<Vec<Tool>, Violation> {
    check_count(given.len())?;
    let tools = given.iter().enumerate().map(|(index, tool)| {
        let Some(function) = tool.function.as_ref().filter(|_| tool.r#type == "function") else {
            return Err(not_supported(&format!("tools[{index}].type")));
        };
        let at_index = |violation: Violation| violation.within("function").at(index).within("tools");
        function.tool().map_err(at_index)
    });
    tools.collect()
}

/// Which of the tools the model may or must call.
///
/// # Errors
/// 400: the mode is unknown, or names a tool that the request does not have.
pub fn tool_choice(given: &ToolChoiceBody, tools: &[Tool]) -> Result<ToolChoice, Violation> {
    match given {
        ToolChoiceBody::Mode(mode) => match mode.as_str() {
            "auto" => Ok(ToolChoice::Auto),
            "none" => Ok(ToolChoice::None),
            "required" if tools.is_empty() => Err(invalid_choice("needs tools: send them")),
            "required" => Ok(ToolChoice::Required),
            _ => Err(invalid_choice("must be `auto`, `none`, `required` or a function")),
        },
        ToolChoiceBody::Named(NamedToolBody { r#type, function }) => {
            let Some(function) = function.as_ref().filter(|_| r#type == "function") else {
                return Err(not_supported("tool_choice"));
            };
            named(tools, &function.name).map(ToolChoice::Tool)
        }
    }
}
