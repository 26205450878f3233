//! The problem of a conversation that its caller cannot open.

use runtime::http::HttpProblem;

/// The conversation does not exist for this caller. The reason is not disclosed.
#[must_use]
pub fn not_found() -> HttpProblem {
    conversations::problem::not_found().into()
}
