//! Problems of rejected turns.

use domain::{FieldPath, RunId};
use wire::status::{Problem, Reason};

/// The problem of a turn that was not started; `fields` are the caller's names of the events, in order: the writer's `events[2].…`
/// is the third of them.
#[must_use]
pub fn not_started(problem: Problem, fields: &[String]) -> Problem {
    problem.rename_field(|field| {
        let (index, _) = field.entry_of("events")?;
        fields.get(index).map(FieldPath::from)
    })
}

/// The turn has no message and no open call.
#[must_use]
pub fn nothing_to_answer() -> Problem {
    let message = "there is nothing to answer: send a message, or results of open calls";
    Problem::new(Reason::NothingToAnswer, message)
}

/// An approval of a call that has a result or does not exist.
pub(super) fn call_not_open() -> Problem {
    Problem::of_field(Reason::ToolCallNotOpen, "approvals", "names a call that is not open: load the messages")
}

/// An approval from a caller who may not decide.
pub(super) fn approval_not_allowed() -> Problem {
    let message = "this caller may not approve calls: the agent's setting approvers defines who may";
    Problem::new(Reason::ApprovalNotAllowed, message).in_field("approvals")
}

/// A result of a call that has one, or does not exist.
pub(super) fn result_not_awaited(field: &str) -> Problem {
    let description = "is the result of a call that is not open: load the messages";
    Problem::of_field(Reason::ToolCallNotOpen, field, description)
}

/// A result of a call that only the tool's webhook may answer.
#[must_use]
pub fn answered_by_webhook(field: &str) -> Problem {
    let description =
        "is the result of a call that only the tool's webhook may answer: approve or refuse the call instead";
    Problem::of_field(Reason::ToolAnsweredByWebhook, field, description)
}

/// Another run is active; nothing can be added to it.
pub(super) fn run_active(run: RunId) -> Problem {
    let message = "a run is active: wait for its end, or stop it";
    Problem::new(Reason::RunActive, message).with("run_id", run.to_string())
}

/// The agent does not allow the role of a message to public callers.
#[must_use]
pub fn role_not_allowed(index: usize) -> Problem {
    let description =
        "is not allowed with a public key: leave the message out, or allow its role in the agent's settings";
    Problem::of_field(Reason::RoleNotAllowed, FieldPath::from("role").at(index).within("messages"), description)
}

/// The request names a message that is not in the chat.
#[must_use]
pub fn no_such_message() -> Problem {
    let description = "is not a message of the chat: load the messages";
    Problem::of_field(Reason::MessageNotFound, "messageId", description)
}

#[cfg(test)]
mod tests {
    use domain::{Violation, ViolationReason};

    use super::*;

    fn check(field: &str, expected: (&str, &str)) {
        let fields = ["toolResults[0]".to_owned(), "content".to_owned()];
        let violation = Violation::new(ViolationReason::TooLong, "is long").within(field);
        let problem = not_started(violation.into(), &fields);
        let actual = (problem.field().unwrap().to_string(), problem.message());
        assert_eq!(actual, (expected.0.to_owned(), expected.1));
    }

    #[test]
    fn fields_have_the_callers_names() {
        check("events[1].message_appended", ("content", "content is long"));
        check("events[0]", ("toolResults[0]", "toolResults[0] is long"));
        check("events[2]", ("events[2]", "events[2] is long"));
        check("target", ("target", "target is long"));
    }
}
