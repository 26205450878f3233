//! `/v1/histories/{key}`: histories under a caller's own key, for back ends.

pub mod get_history;
pub mod history_body;
pub mod load_history;
pub mod named_history;
pub mod record_messages;
