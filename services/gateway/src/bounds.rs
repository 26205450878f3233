//! Short constructors for the bounds of settings.

use runtime::config::Bounds;

/// The bounds of a duration in ms.
pub(crate) const fn ms(min: u64, max: u64) -> Bounds<u64> {
    let unit = "ms";
    Bounds { min, max, unit }
}

/// The bounds of a number of things.
pub(crate) const fn count<N: Copy>(min: N, max: N, unit: &'static str) -> Bounds<N> {
    Bounds { min, max, unit }
}
