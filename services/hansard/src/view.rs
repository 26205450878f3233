//! The output of commands: readable text and JSON.

pub(crate) mod commit;
pub(crate) mod context;
pub(crate) mod explanation;
pub(crate) mod transcript;
pub(crate) mod when;
