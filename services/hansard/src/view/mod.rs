//! The output of commands: readable text and JSON.

pub mod commit;
pub mod context;
pub mod explanation;
pub mod transcript;
pub mod when;
