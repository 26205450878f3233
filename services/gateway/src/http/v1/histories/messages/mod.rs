//! `/v1/histories/{key}/messages`.

pub mod record_messages;
