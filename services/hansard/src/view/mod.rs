//! What commands print: for people, and as JSON for machines.

pub mod commit;
pub mod context;
pub mod explanation;
pub mod json;
pub mod transcript;
pub mod when;
