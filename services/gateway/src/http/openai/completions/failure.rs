//! Problems of completions.

use domain::ViolationReason;
use runtime::http::HttpProblem;

/// The problem of a field with a value that is not supported.
pub(in crate::http::openai) fn not_supported(field: &str) -> HttpProblem {
    let detail = format!("{field} has a value that is not supported: leave it out");
    HttpProblem::of_field(ViolationReason::Unsupported, field, detail)
}
