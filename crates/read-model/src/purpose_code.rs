//! The codes of call purposes in rows. They never change.

pub(crate) const ANSWER: i16 = 1;
pub(crate) const SUMMARY: i16 = 2;
pub(crate) const TITLE: i16 = 3;
