//! The steps from a conversation's events to a context, one file each, in the order in which they run.

pub mod select;
