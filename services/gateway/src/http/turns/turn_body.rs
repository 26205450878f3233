//! JSON of turns: messages, results of calls, approvals.

use domain::event::{ToolOutcome, ToolReturned};
use domain::{CallId, Fact, Part, Violation, ViolationReason};
use runs::request::{tool_output, user_parts};
use runs::{Denial, denial_result};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use conversations::turns::turn::Turn;

/// Maximum number of results, and of approvals, per turn.
pub const ANSWERS_MAX: usize = domain::bounds::OPEN_CALLS_MAX;

/// The result of a tool that the client runs.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolResultBody {
    /// The call.
    #[schema(example = "call_1")]
    tool_call_id: String,
    /// The output: a text, or any other JSON; absent: null.
    #[schema(value_type = Option<Object>)]
    output: Option<Box<RawValue>>,
    /// Whether it failed.
    #[serde(default)]
    is_error: bool,
}

/// A person's decision about a tool call.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalBody {
    /// The call.
    #[schema(example = "call_1")]
    tool_call_id: String,
    /// Whether the tool may run.
    approved: bool,
    /// Why it was refused.
    reason: Option<String>,
}

/// The user's message, as text or as parts.
///
/// # Errors
/// Both are given, or a part is invalid.
pub(in crate::http) fn content(
    text: Option<String>,
    parts: Option<&RawValue>,
) -> Result<Option<(&'static str, Vec<Part>)>, Violation> {
    match (text, parts) {
        (Some(_), Some(_)) => {
            let rule = "is given together with content: send one of them";
            Err(Violation::new(ViolationReason::Malformed, rule).within("parts"))
        }
        (Some(text), None) if text.is_empty() => {
            Err(Violation::new(ViolationReason::Missing, "is empty").within("content"))
        }
        (Some(text), None) => Ok(Some(("content", vec![Part::Text(text)]))),
        (None, Some(parts)) => user_parts(parts.get()).map(|parts| Some(("parts", parts))),
        (None, None) => Ok(None),
    }
}

/// Adds results to a turn.
///
/// # Errors
/// There are too many, or one is invalid.
pub(in crate::http) fn add_results(turn: &mut Turn, results: Vec<ToolResultBody>) -> Result<(), Violation> {
    check_count(results.len(), "toolResults")?;
    for (index, result) in results.into_iter().enumerate() {
        let at = |wrong: Violation| wrong.at(index).within("toolResults");
        let returned = returned(result).map_err(at)?;
        turn.add_fact(format!("toolResults[{index}]"), Fact::ToolReturned(returned));
    }
    Ok(())
}

fn returned(result: ToolResultBody) -> Result<ToolReturned, Violation> {
    let call_id = CallId::parse(result.tool_call_id);
    let output = result.output.as_deref().map_or("null", RawValue::get);
    Ok(ToolReturned {
        call_id: call_id.map_err(|wrong| wrong.within("toolCallId"))?,
        tool_name: None,
        output: tool_output(output).map_err(|wrong| wrong.within("output"))?,
        outcome: if result.is_error { ToolOutcome::Failed } else { ToolOutcome::Succeeded },
    })
}

/// Adds approvals and refusals to a turn.
///
/// # Errors
/// There are too many, or one is invalid.
pub(in crate::http) fn add_approvals(turn: &mut Turn, approvals: Vec<ApprovalBody>) -> Result<(), Violation> {
    check_count(approvals.len(), "approvals")?;
    for (index, approval) in approvals.into_iter().enumerate() {
        let call_id = CallId::parse(approval.tool_call_id)
            .map_err(|wrong| wrong.within("toolCallId").at(index).within("approvals"))?;
        if approval.approved {
            turn.approved.push(call_id);
        } else {
            let denial = Denial { reason: approval.reason };
            let fact = Fact::ToolReturned(denial_result(call_id, denial));
            turn.add_fact(format!("approvals[{index}]"), fact);
        }
    }
    Ok(())
}

fn check_count(count: usize, field: &str) -> Result<(), Violation> {
    if count <= ANSWERS_MAX {
        return Ok(());
    }
    let rule = format!("has {count} entries, at most {ANSWERS_MAX} are accepted");
    Err(Violation::new(ViolationReason::OutOfRange, rule).within(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(count: usize) -> Vec<ToolResultBody> {
        (0..count).map(|index| result(&index.to_string())).collect()
    }

    fn result(call: &str) -> ToolResultBody {
        ToolResultBody { tool_call_id: call.to_owned(), output: None, is_error: false }
    }

    fn approval(call: &str, approved: bool) -> ApprovalBody {
        ApprovalBody { tool_call_id: call.to_owned(), approved, reason: None }
    }

    #[test]
    fn results_and_approvals_at_their_bound() {
        let check = |count: usize, expected: Option<&str>| {
            let actual = add_results(&mut Turn::default(), results(count)).err();
            assert_eq!(actual.map(|wrong| wrong.field).map(|field| field.to_string()).as_deref(), expected);
            let approvals = (0..count).map(|index| approval(&index.to_string(), true));
            let actual = add_approvals(&mut Turn::default(), approvals.collect()).err();
            assert_eq!(actual.is_some(), expected.is_some());
        };
        check(ANSWERS_MAX, None);
        check(ANSWERS_MAX + 1, Some("toolResults"));
        let invalid = add_results(&mut Turn::default(), vec![result("a"), result("")]);
        assert_eq!(invalid.unwrap_err().field, "toolResults[1].toolCallId");
        let invalid = add_approvals(&mut Turn::default(), vec![approval("", true)]);
        assert_eq!(invalid.unwrap_err().field, "approvals[0].toolCallId");
    }

    #[test]
    fn a_message_is_text_or_parts() {
        let check = |text: Option<&str>, parts: Option<&str>, expected: Result<usize, &str>| {
            let parts = parts.map(|parts| RawValue::from_string(parts.to_owned()).unwrap());
            let actual = content(text.map(str::to_owned), parts.as_deref())
                .map(|message| message.map_or(0, |(_, parts)| parts.len()));
            assert_eq!(actual.map_err(|wrong| wrong.field), expected.map_err(domain::FieldPath::from));
        };
        check(None, None, Ok(0));
        check(Some("a"), None, Ok(1));
        check(Some(""), None, Err("content"));
        check(Some("a"), Some("[]"), Err("parts"));
        check(None, Some(r#"[{"type":"text","text":"a"}]"#), Ok(1));
        check(None, Some(r#"[{"type":"text"}]"#), Err("parts[0].text"));
        check(None, Some("[]"), Err("parts"));
    }

    #[test]
    fn a_refusal_is_a_result_and_an_approval_is_not() {
        let mut turn = Turn::default();
        add_approvals(&mut turn, vec![approval("a", true), approval("b", false)]).unwrap();
        assert_eq!(turn.approved, [CallId::parse("a").unwrap()]);
        assert!(!turn.is_empty());
    }
}
