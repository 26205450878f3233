//! The steps from a conversation's events to a context, one file each, in the order in which they run.

pub mod budget;
pub mod clear;
pub mod inject;
pub mod own_instructions;
pub mod redact;
pub mod repair;
pub mod select;
pub mod summarise;
pub mod tool_digest;
