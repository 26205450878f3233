//! The tools of a request, which the caller runs.

use domain::{JsonText, ToolName, Violation};
use models::{TOOLS_MAX, Tool, ToolChoice};
use runtime::http::HttpProblem;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::failure::not_supported;
use crate::http::problem;

/// The schema of a tool without parameters.
const NO_PARAMETERS: &str = r#"{"type":"object","properties":{}}"#;

/// A tool.
#[derive(Debug, Deserialize, ToSchema)]
pub struct CompletionTool {
    /// `function`; other kinds are not supported.
    r#type: String,
    /// The function.
    function: Option<CompletionToolFunction>,
}

/// A function that the model may call.
#[derive(Debug, Deserialize, ToSchema)]
struct CompletionToolFunction {
    /// Its name; 1 to 256 bytes.
    name: String,
    /// What it does, for the model.
    description: Option<String>,
    /// The JSON schema of its input: an object.
    #[schema(value_type = Option<Object>)]
    parameters: Option<Value>,
    /// Whether the model server must enforce the schema.
    strict: Option<bool>,
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
/// 400: there are more than [`TOOLS_MAX`], one is not a function, or a field is invalid.
pub fn tools(given: &[CompletionTool]) -> Result<Vec<Tool>, HttpProblem> {
    if given.len() > TOOLS_MAX {
        let detail = format!(
            "tools has {} entries, the maximum is {TOOLS_MAX}",
            given.len()
        );
        return Err(HttpProblem::of_field("FIELD_OUT_OF_RANGE", "tools", detail));
    }
    let tools = given.iter().enumerate().map(|(index, tool)| {
        let Some(function) = tool.function.as_ref().filter(|_| tool.r#type == "function") else {
            return Err(not_supported(&format!("tools[{index}].type")));
        };
        let named = |violation: Violation| violation.within("function").at(index).within("tools");
        function
            .tool()
            .map_err(named)
            .map_err(problem::from_violation)
    });
    tools.collect()
}

impl CompletionToolFunction {
    fn tool(&self) -> Result<Tool, Violation> {
        let parameters = self.parameters.as_ref().map(Value::to_string);
        let schema = JsonText::parse(parameters.as_deref().unwrap_or(NO_PARAMETERS));
        Ok(Tool {
            name: ToolName::parse(self.name.as_str())
                .map_err(|violation| violation.within("name"))?,
            description: self.description.clone().unwrap_or_default(),
            input_schema: schema.map_err(|violation| violation.within("parameters"))?,
            strict: self.strict.unwrap_or_default(),
        })
    }
}

/// Which of the tools the model may or must call.
///
/// # Errors
/// 400: the mode is unknown, or names a tool that the request does not have.
pub fn tool_choice(given: &ToolChoiceBody, tools: &[Tool]) -> Result<ToolChoice, HttpProblem> {
    match given {
        ToolChoiceBody::Mode(mode) => match mode.as_str() {
            "auto" => Ok(ToolChoice::Auto),
            "none" => Ok(ToolChoice::None),
            "required" if tools.is_empty() => Err(malformed("needs tools: send them")),
            "required" => Ok(ToolChoice::Required),
            _ => Err(malformed(
                "must be `auto`, `none`, `required` or a function",
            )),
        },
        ToolChoiceBody::Named(NamedToolBody { r#type, function }) => {
            let Some(function) = function.as_ref().filter(|_| r#type == "function") else {
                return Err(not_supported("tool_choice"));
            };
            let mut names = tools.iter().map(|tool| &tool.name);
            let name = names.find(|name| name.as_str() == function.name);
            let name = name.ok_or_else(|| malformed("names no tool of the request"))?;
            Ok(ToolChoice::Tool(name.clone()))
        }
    }
}

fn malformed(rule: &str) -> HttpProblem {
    HttpProblem::of_field(
        "FIELD_MALFORMED",
        "tool_choice",
        format!("tool_choice {rule}"),
    )
}
