//! The tools of a request, which the caller runs. Tools that OpenAI runs are not supported.

use domain::{Violation, ViolationReason};
use formats::{Tool, ToolChoice};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::function_tool::{FunctionTool, check_count, invalid_choice, named};
use crate::wrong_field::{not_supported, wrong};

/// The kind of a tool or of a choice.
#[derive(Debug, Deserialize)]
struct Typed {
    r#type: Option<String>,
}

/// A choice that is an object.
#[derive(Debug, Deserialize)]
struct ChoiceBody {
    r#type: String,
    name: Option<String>,
    mode: Option<String>,
    tools: Option<Vec<ChoiceBody>>,
}

/// The tools of a request.
///
/// # Errors
/// 400: there are too many, one is not a function, or a field is invalid.
pub(super) fn tools(given: &[Box<RawValue>]) -> Result<Vec<Tool>, Violation> {
    check_count(given.len())?;
    let tools = given.iter().enumerate().map(|(index, tool)| {
        let kind = serde_json::from_str::<Typed>(tool.get()).map_err(|_| not_a_tool(index))?.r#type;
        if kind.as_deref() != Some("function") {
            return Err(not_supported(&format!("tools[{index}].type")));
        }
        let function = serde_json::from_str::<FunctionTool>(tool.get());
        let at_index = |violation: Violation| violation.at(index).within("tools");
        function.map_err(|_| not_a_tool(index))?.tool().map_err(at_index)
    });
    tools.collect()
}

fn not_a_tool(index: usize) -> Violation {
    let rule = "is not a tool: send an object with `type` and `name`";
    wrong(ViolationReason::Malformed, &format!("tools[{index}]"), rule)
}

/// Which of the tools the model may or must call. A choice of allowed tools removes the others.
///
/// # Errors
/// 400: the mode is unknown, or names a tool that the request does not have.
pub(super) fn tool_choice(given: &RawValue, tools: &mut Vec<Tool>) -> Result<Option<ToolChoice>, Violation> {
    if let Ok(mode) = serde_json::from_str::<String>(given.get()) {
        return by_mode(&mode, tools);
    }
    let choice = serde_json::from_str::<ChoiceBody>(given.get())
        .map_err(|_| invalid_choice("must be `auto`, `none`, `required` or an object"))?;
    match (choice.r#type.as_str(), &choice.name, &choice.tools) {
        ("function", Some(name), _) => named(tools, name).map(ToolChoice::Tool).map(Some),
        ("allowed_tools", _, Some(allowed)) => {
            let names: Result<Vec<_>, _> =
                allowed.iter().map(|tool| named(tools, tool.name.as_deref().unwrap_or_default())).collect();
            let names = names?;
            tools.retain(|tool| names.contains(&tool.name));
            by_mode(choice.mode.as_deref().unwrap_or("auto"), tools)
        }
        _ => Err(not_supported("tool_choice")),
    }
}

/// Model servers reject a choice without tools, also `auto` and `none`.
fn by_mode(mode: &str, tools: &[Tool]) -> Result<Option<ToolChoice>, Violation> {
    let choice = match mode {
        "auto" => ToolChoice::Auto,
        "none" => ToolChoice::None,
        "required" if tools.is_empty() => return Err(invalid_choice("needs tools: send them")),
        "required" => ToolChoice::Required,
        _ => return Err(invalid_choice("must be `auto`, `none` or `required`")),
    };
    Ok((!tools.is_empty()).then_some(choice))
}

#[cfg(test)]
mod tests {
    use domain::ToolName;
    use formats::TOOLS_MAX;
    use serde_json::{Value, json, value::to_raw_value};

    use super::*;

    fn parse(raw: &[Box<RawValue>]) -> Result<Vec<Tool>, Violation> {
        tools(raw)
    }

    fn check(tools: &Value, choice: &Value, expected: Result<(usize, Option<ToolChoice>), &str>) {
        let raw: Vec<Box<RawValue>> = serde_json::from_str(&tools.to_string()).unwrap();
        let parsed = parse(&raw)
            .and_then(|mut tools| {
                let choice = tool_choice(&to_raw_value(choice).unwrap(), &mut tools)?;
                Ok((tools.len(), choice))
            })
            .map_err(|violation| violation.field);
        assert_eq!(parsed, expected.map_err(domain::FieldPath::from), "{tools} {choice}");
    }

    #[test]
    fn functions_and_choices() {
        let a = json!({"type": "function", "name": "a"});
        let b = json!({"type": "function", "name": "b", "parameters": null, "strict": null});
        let name = ToolName::parse("b").unwrap();
        let both = json!([a, b]);
        check(&json!([]), &json!("auto"), Ok((0, None)));
        check(&both, &json!("none"), Ok((2, Some(ToolChoice::None))));
        check(&both, &json!(b), Ok((2, Some(ToolChoice::Tool(name)))));
        let allowed = json!({"type": "allowed_tools", "mode": "required", "tools": [b]});
        check(&both, &allowed, Ok((1, Some(ToolChoice::Required))));
        for (tools, choice, field) in [
            (json!([]), json!("required"), "tool_choice"),
            (json!([a]), json!("any"), "tool_choice"),
            (json!([a]), json!(b), "tool_choice"),
            (json!([a]), json!({"type": "file_search"}), "tool_choice"),
            (json!([{"type": "web_search"}]), json!("auto"), "tools[0].type"),
            (json!([a, {"type": "function"}]), json!("auto"), "tools[1]"),
            (json!([{"type": "function", "name": ""}]), json!("auto"), "tools[0].name"),
        ] {
            check(&tools, &choice, Err(field));
        }
    }

    #[test]
    fn the_number_of_tools_at_its_bound() {
        let tool = |index: usize| json!({"type": "function", "name": format!("t{index}")});
        for (count, is_accepted) in [(TOOLS_MAX, true), (TOOLS_MAX + 1, false)] {
            let all: Vec<Value> = (0..count).map(tool).collect();
            let raw: Vec<Box<RawValue>> = serde_json::from_str(&json!(all).to_string()).unwrap();
            assert_eq!(tools(&raw).is_ok(), is_accepted, "{count}");
        }
    }
}
