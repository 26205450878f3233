//! The problem of a conversation that its caller cannot open.

use runtime::http::HttpProblem;
use wire::status::{Problem, Reason};

/// The conversation does not exist for this caller. The reason is not disclosed.
#[must_use]
pub fn not_found() -> HttpProblem {
    Problem::new(Reason::ConversationNotFound, "").into()
}
