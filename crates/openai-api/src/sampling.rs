//! Ranges of sampling parameters, as OpenAI limits them.

use crate::wrong_field::out_of_range;
use domain::Violation;

/// Temperatures.
pub(crate) const TEMPERATURES: (f64, f64) = (0.0, 2.0);
/// Shares of the probability, for nucleus sampling.
pub(crate) const SHARES: (f64, f64) = (0.0, 1.0);
/// Penalties.
pub(crate) const PENALTIES: (f64, f64) = (-2.0, 2.0);

/// Checks a value against its range.
///
/// # Errors
/// 400: it is out of the range.
pub(crate) fn within(field: &str, value: Option<f64>, (min, max): (f64, f64)) -> Result<Option<f64>, Violation> {
    if value.is_none_or(|value| (min..=max).contains(&value)) {
        return Ok(value);
    }
    let rule = format!("is out of its range: {min} to {max}");
    Err(out_of_range(field, &rule))
}
