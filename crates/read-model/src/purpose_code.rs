//! The codes of the purposes of calls in rows. Stable for ever.

/// An answer.
pub(crate) const ANSWER: i16 = 1;
/// A summary.
pub(crate) const SUMMARY: i16 = 2;
