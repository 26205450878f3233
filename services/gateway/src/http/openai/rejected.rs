//! Rejected changes, in OpenAI's terms.

use axum::http::StatusCode;
use conversations::open::is_not_owned;
use http_listener::not_found::not_found;
use runtime::http::HttpProblem;
use wire::status::Reason;

/// The writer's rejection in OpenAI's terms. Its libraries repeat a 409, which would not help here.
pub(in crate::http::openai) fn rejected(problem: impl Into<HttpProblem>) -> HttpProblem {
    let problem = problem.into();
    match problem.reason() {
        Some(Reason::VersionConflict | Reason::Contention | Reason::RunActive) => locked(),
        Some(reason) if is_not_owned(reason) => not_found(),
        _ if problem.status == StatusCode::CONFLICT => {
            let field = problem.field.clone().unwrap_or("conversation".to_owned());
            HttpProblem { status: StatusCode::BAD_REQUEST, ..problem.in_field(field) }
        }
        _ => problem,
    }
}

/// Another request changes the conversation, or a run is active.
pub(in crate::http::openai) fn locked() -> HttpProblem {
    let detail = "another request is changing the conversation: read it and try again";
    HttpProblem::of_field("conversation_locked", "conversation", detail)
}
