//! The codes of call purposes in rows. They never change.

/// An answer.
pub(crate) const ANSWER: i16 = 1;
/// A summary.
pub(crate) const SUMMARY: i16 = 2;
