//! Calls that are not executed: the model gets the reason as a failed result, and continues. Pure.

use domain::event::{ToolCalled, ToolOutcome, ToolOutput, ToolReturned};
use domain::{Fact, Part};
use formats::Tool;
use runs::FinishReason;
use thiserror::Error;

use super::tool_calls::CallEvent;

/// Maximum number of tools that a reason names.
const TOOLS_NAMED_MAX: usize = 20;

/// Why a call is not executed. The text is for the model.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
enum UnusableCall {
    #[error(
        "The call was cut by the limit of output tokens, and not executed. Call the tool again, with a shorter input."
    )]
    Cut,
    #[error("The input of the call is no JSON object, so it was not executed. Call the tool again, with an object.")]
    NoObject,
    #[error("There is no tool of this name, so nothing was executed. The tools are: {tools}.")]
    NoSuchTool { tools: String },
}

/// Splits the calls of an answer into those that can be executed with these tools, and failed results of the others. `facts` is the
/// whole answer.
pub(super) fn split(calls: Vec<CallEvent>, facts: &[Fact], tools: &[Tool]) -> (Vec<CallEvent>, Vec<ToolReturned>) {
    let is_cut = FinishReason::of(facts) == FinishReason::Length;
    let last = calls.len().saturating_sub(1);
    let (mut executable, mut failed) = (Vec::new(), Vec::new());
    for (index, event) in calls.into_iter().enumerate() {
        match reason(&event.call, is_cut && index == last, tools) {
            None => executable.push(event),
            Some(reason) => failed.push(ToolReturned {
                call_id: event.call.call_id,
                tool_name: Some(event.call.tool_name),
                output: ToolOutput::Parts(vec![Part::Text(reason.to_string())]),
                outcome: ToolOutcome::Failed,
            }),
        }
    }
    (executable, failed)
}

/// `is_cut`: the answer ends with this call, at the limit of tokens. A whole object is a whole input even then.
fn reason(call: &ToolCalled, is_cut: bool, tools: &[Tool]) -> Option<UnusableCall> {
    if !tools.iter().any(|tool| tool.name == call.tool_name) {
        let named: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).take(TOOLS_NAMED_MAX).collect();
        return Some(UnusableCall::NoSuchTool { tools: named.join(", ") });
    }
    let input = call.input.as_str().trim_start();
    match input.starts_with('{') {
        // An input that was not begun is recorded as an empty object.
        true if is_cut && input == "{}" => Some(UnusableCall::Cut),
        true => None,
        false if is_cut => Some(UnusableCall::Cut),
        false => Some(UnusableCall::NoObject),
    }
}

#[cfg(test)]
mod tests {
    use domain::event::{MessageAppended, Role};
    use domain::{CallId, EventId, JsonText, Label, ToolName};
    use uuid::Uuid;

    use super::*;

    fn tool(name: &str) -> Tool {
        Tool {
            name: ToolName::parse(name).unwrap(),
            description: String::new(),
            input_schema: json("{}"),
            strict: false,
        }
    }

    fn json(text: &str) -> JsonText {
        JsonText::parse(text).unwrap()
    }

    /// The calls of an answer that are not executed, by the index of the call.
    fn check(finish: &str, calls: &[(&str, &str)], expected: &[(usize, &str)]) {
        let call = |(index, (name, input)): (usize, &(&str, &str))| CallEvent {
            event: EventId(Uuid::nil()),
            call: ToolCalled::new(
                CallId::parse(format!("c{index}")).unwrap(),
                ToolName::parse(*name).unwrap(),
                json(input),
            ),
        };
        let calls: Vec<CallEvent> = calls.iter().enumerate().map(call).collect();
        let finish_reason = Label::parse(finish).ok();
        let message = MessageAppended { finish_reason, ..MessageAppended::new(Role::Assistant, Vec::new()) };
        let facts = [Fact::MessageAppended(message)];
        let count = calls.len();
        let (executable, results) = split(calls, &facts, &[tool("look"), tool("say")]);
        assert_eq!(executable.len() + results.len(), count);
        let expected: Vec<_> = expected.iter().map(|(index, text)| (format!("c{index}"), (*text).to_owned())).collect();
        let actual: Vec<_> = results
            .into_iter()
            .map(|result| {
                assert_eq!(result.outcome, ToolOutcome::Failed);
                let ToolOutput::Parts(parts) = result.output else { panic!("no text") };
                let [Part::Text(text)] = parts.as_slice() else { panic!("no text") };
                (result.call_id.as_str().to_owned(), text.split('.').next().unwrap_or_default().to_owned())
            })
            .collect();
        assert_eq!(actual, expected, "{finish}");
    }

    #[test]
    fn calls_that_are_not_executed() {
        const CUT: &str = "The call was cut by the limit of output tokens, and not executed";
        const NO_OBJECT: &str = "The input of the call is no JSON object, so it was not executed";
        const NO_TOOL: &str = "There is no tool of this name, so nothing was executed";
        for finish in ["tool_calls", "stop"] {
            check(finish, &[("look", "{}"), ("say", r#" {"a":1}"#)], &[]);
            for input in [r#""{\"a\": 1""#, "[1]", "null", "7"] {
                check(finish, &[("look", input), ("look", "{}")], &[(0, NO_OBJECT)]);
            }
            check(finish, &[("find", "{}"), ("find", "[]")], &[(0, NO_TOOL), (1, NO_TOOL)]);
        }
        for finish in ["length", "max_tokens", "MAX_TOKENS", "max_output_tokens"] {
            check(finish, &[("look", r#""{\"a\"""#)], &[(0, CUT)]);
            check(finish, &[("look", "{}")], &[(0, CUT)]);
            check(finish, &[("look", "{}"), ("look", r#""{\"a\"""#)], &[(1, CUT)]);
            check(finish, &[("look", r#"{"a":1}"#)], &[]);
            check(finish, &[("look", "[1]"), ("look", r#"{"a":1}"#)], &[(0, NO_OBJECT)]);
        }
    }

    #[test]
    fn the_tools_are_named_up_to_a_bound() {
        let tools: Vec<Tool> = (0..=TOOLS_NAMED_MAX).map(|number| tool(&format!("t{number}"))).collect();
        let call = ToolCalled::new(CallId::parse("c").unwrap(), ToolName::parse("find").unwrap(), json("{}"));
        let text = reason(&call, false, &tools).unwrap().to_string();
        assert!(text.contains("t0, t1, ") && text.ends_with("t19."), "{text}");
    }
}
