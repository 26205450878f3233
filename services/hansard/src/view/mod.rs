//! What commands print: for people, and as JSON for machines.

pub mod context;
pub mod explanation;
pub mod json;
pub mod when;
