//! Bounds of settings.

use std::fmt::Display;

use domain::{Violation, ViolationReason};

/// Checks that the field `name` is at most `max`.
pub(crate) fn check_max<T: Copy + PartialOrd + Display>(name: &str, value: T, max: T) -> Result<(), Violation> {
    if value > max {
        let rule = format!("is {value}, but must be at most {max}");
        return Err(Violation::new(ViolationReason::OutOfRange, rule).within(name));
    }
    Ok(())
}
