//! Problems of a request's fields.

use domain::{Violation, ViolationReason};
use runtime::http::HttpProblem;

/// A field that breaks a rule.
#[must_use]
pub(super) fn wrong(reason: ViolationReason, field: &str, rule: &str) -> HttpProblem {
    Violation::new(reason, rule).within(field).into()
}

/// A number or a count is out of its range.
#[must_use]
pub(super) fn out_of_range(field: &str, rule: &str) -> HttpProblem {
    wrong(ViolationReason::OutOfRange, field, rule)
}

/// A field with a value that is not supported.
#[must_use]
pub(super) fn not_supported(field: &str) -> HttpProblem {
    wrong(ViolationReason::Unsupported, field, "has a value that is not supported: leave it out")
}
