//! Problems of rejected turns.

use axum::http::StatusCode;
use domain::RunId;
use runtime::http::{HttpProblem, list_entry};
use wire::status::{Problem, Reason};

/// The problem of a turn that was not started; `fields` are the caller's names of the events, in order: the writer's `events[2].…`
/// is the third of them.
pub(in crate::http) fn not_started(problem: Problem, fields: &[String]) -> HttpProblem {
    HttpProblem::from(problem).rename_field(|field| {
        let (index, _) = list_entry(field, "events")?;
        fields.get(index).cloned()
    })
}

/// The turn has no message and no open call.
pub(in crate::http) fn nothing_to_answer() -> HttpProblem {
    let detail = "there is nothing to answer: send a message, or results of open calls";
    HttpProblem::new(StatusCode::CONFLICT, "NOTHING_TO_ANSWER", detail)
}

/// An approval of a call that has a result or does not exist.
pub(in crate::http) fn call_not_open() -> HttpProblem {
    let detail = "approvals names a call that is not open: load the messages";
    not_open("approvals", detail)
}

/// An approval from a caller who may not decide.
pub(in crate::http) fn approval_not_allowed() -> HttpProblem {
    let detail = "this caller may not approve calls: the agent's setting approvers defines who may";
    HttpProblem::new(StatusCode::FORBIDDEN, "APPROVAL_NOT_ALLOWED", detail).in_field("approvals")
}

/// A result of a call that has one, or does not exist.
pub(in crate::http) fn result_not_awaited(field: &str) -> HttpProblem {
    let detail = format!("{field} is the result of a call that is not open: load the messages");
    not_open(field, detail)
}

fn not_open(field: &str, detail: impl Into<String>) -> HttpProblem {
    let code = Reason::ToolCallNotOpen.as_str();
    HttpProblem::new(StatusCode::CONFLICT, code, detail.into()).in_field(field)
}

/// A result of a call that only the tool's webhook may answer.
pub(in crate::http) fn answered_by_webhook(field: &str) -> HttpProblem {
    let detail = format!(
        "{field} is the result of a call that only the tool's webhook may answer: approve or refuse the call instead"
    );
    HttpProblem::new(StatusCode::FORBIDDEN, "TOOL_ANSWERED_BY_WEBHOOK", detail).in_field(field)
}

/// Another run is active; nothing can be added to it.
pub(in crate::http) fn run_active(run: RunId) -> HttpProblem {
    let detail = "a run is active: wait for its end, or stop it";
    let code = Reason::RunActive.as_str();
    HttpProblem::new(StatusCode::CONFLICT, code, detail).with("run_id", run.to_string())
}

/// The agent does not allow the role of a message to public callers.
pub(in crate::http) fn role_not_allowed(index: usize) -> HttpProblem {
    let field = format!("messages[{index}].role");
    let detail = format!(
        "{field} is not allowed with a public key: leave the message out, or allow its role in the agent's settings"
    );
    HttpProblem::new(StatusCode::FORBIDDEN, "ROLE_NOT_ALLOWED", detail).in_field(field)
}

/// The request names a message that is not in the chat.
pub(in crate::http) fn no_such_message() -> HttpProblem {
    let detail = "messageId is not a message of the chat: load the messages";
    HttpProblem::new(StatusCode::NOT_FOUND, "MESSAGE_NOT_FOUND", detail).in_field("messageId")
}

#[cfg(test)]
mod tests {
    use domain::{Violation, ViolationReason};

    use super::*;

    fn check(field: &str, expected: (&str, &str)) {
        let fields = ["toolResults[0]".to_owned(), "content".to_owned()];
        let violation = Violation::new(ViolationReason::TooLong, "is long").within(field);
        let problem = not_started(violation.into(), &fields);
        let actual = (problem.field.as_deref(), problem.detail.as_str());
        assert_eq!(actual, (Some(expected.0), expected.1));
    }

    #[test]
    fn fields_have_the_callers_names() {
        check("events[1].message_appended", ("content", "content is long"));
        check("events[0]", ("toolResults[0]", "toolResults[0] is long"));
        check("events[2]", ("events[2]", "events[2] is long"));
        check("target", ("target", "target is long"));
    }
}
