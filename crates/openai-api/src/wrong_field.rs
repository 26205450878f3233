//! Problems of a request's fields.

use domain::{Violation, ViolationReason};

/// A field that breaks a rule.
#[must_use]
pub fn wrong(reason: ViolationReason, field: &str, rule: &str) -> Violation {
    Violation::new(reason, rule).within(field)
}

/// A number or a count is out of its range.
#[must_use]
pub fn out_of_range(field: &str, rule: &str) -> Violation {
    wrong(ViolationReason::OutOfRange, field, rule)
}

/// A field with a value that is not supported.
#[must_use]
pub fn not_supported(field: &str) -> Violation {
    wrong(ViolationReason::Unsupported, field, "has a value that is not supported: leave it out")
}
