//! Why a turn is refused, as HTTP callers see it.

use axum::http::StatusCode;
use domain::RunId;
use runtime::http::HttpProblem;
use tonic::Status;
use wire::status::Reason;

use crate::http::problem;

/// The problem of a turn that was not started; `fields` are the caller's names of what was to be recorded, in order.
/// `RUN_ACTIVE` has the other run's id in its metadata, as `run_id`.
pub(super) fn of_start(status: &Status, fields: &[String]) -> HttpProblem {
    renamed(problem::of_status(status), fields)
}

/// The writer's `events[2].…` is the caller's third field.
fn renamed(mut problem: HttpProblem, fields: &[String]) -> HttpProblem {
    let Some(theirs) = problem.field.clone() else {
        return problem;
    };
    let place = theirs
        .strip_prefix("events[")
        .and_then(|rest| rest.split_once(']'));
    let ours = place.and_then(|(place, _)| fields.get(place.parse::<usize>().ok()?));
    if let Some(ours) = ours {
        if let Some(rest) = problem.detail.strip_prefix(theirs.as_str()) {
            problem.detail = format!("{ours}{rest}");
        }
        problem.field = Some(ours.clone());
    }
    problem
}

/// Nothing is said, and nothing waits for an answer.
pub(super) fn nothing_to_answer() -> HttpProblem {
    let detail = "there is nothing to answer: say something, or give results of open calls";
    HttpProblem::new(StatusCode::CONFLICT, "NOTHING_TO_ANSWER", detail)
}

/// A consent to a call that has its result, or was never made.
pub(super) fn call_not_open() -> HttpProblem {
    let detail = "approvals name a call that waits for nothing: load the messages";
    HttpProblem {
        field: Some("approvals".to_owned()),
        ..HttpProblem::new(
            StatusCode::CONFLICT,
            Reason::ToolCallNotOpen.as_str(),
            detail,
        )
    }
}

/// A person's word on a call from somebody whose word it is not to give.
pub(super) fn approval_not_allowed() -> HttpProblem {
    let detail =
        "approvals are not this caller's to give: the agent's settings say who may approve calls";
    HttpProblem {
        field: Some("approvals".to_owned()),
        ..HttpProblem::new(StatusCode::FORBIDDEN, "APPROVAL_NOT_ALLOWED", detail)
    }
}

/// A result of a call that has one, or was never made.
pub(super) fn result_not_awaited(field: &str) -> HttpProblem {
    let detail = format!("{field} is the result of a call that waits for none: load the messages");
    HttpProblem {
        field: Some(field.to_owned()),
        ..HttpProblem::new(
            StatusCode::CONFLICT,
            Reason::ToolCallNotOpen.as_str(),
            detail,
        )
    }
}

/// A result of a call whose tool answers by a webhook: no client can say what it would.
pub(super) fn answered_by_webhook(field: &str) -> HttpProblem {
    let detail = format!(
        "{field} is the result of a call that the tool's webhook answers: approve or refuse the call instead"
    );
    HttpProblem {
        field: Some(field.to_owned()),
        ..HttpProblem::new(StatusCode::FORBIDDEN, "TOOL_ANSWERED_BY_WEBHOOK", detail)
    }
}

/// Another answer is being made, which nothing can be added to.
pub(super) fn run_active(run: RunId) -> HttpProblem {
    let detail = "an answer is being made: hear it to its end, or stop it";
    let code = Reason::RunActive.as_str();
    HttpProblem::new(StatusCode::CONFLICT, code, detail).with("run_id", run.to_string())
}

/// The page names a message that the chat does not show.
pub(super) fn no_such_message() -> HttpProblem {
    let detail = "messageId names no message of the chat: load the messages";
    HttpProblem {
        field: Some("messageId".to_owned()),
        ..HttpProblem::new(StatusCode::NOT_FOUND, "MESSAGE_NOT_FOUND", detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(field: &str, detail: &str, expected: (&str, &str)) {
        let fields = ["toolResults[0]".to_owned(), "content".to_owned()];
        let problem = renamed(HttpProblem::of_field("X", field, detail), &fields);
        let told = (problem.field.as_deref(), problem.detail.as_str());
        assert_eq!(told, (Some(expected.0), expected.1));
    }

    #[test]
    fn fields_have_the_callers_names() {
        check(
            "events[1].message_appended",
            "events[1].message_appended is long",
            ("content", "content is long"),
        );
        check(
            "events[0]",
            "no such call",
            ("toolResults[0]", "no such call"),
        );
        check("events[2]", "is long", ("events[2]", "is long"));
        check("target", "is long", ("target", "is long"));
    }
}
