//! The bounds of a context.

use crate::request::BoundedNumber;

/// Messages of a context.
pub const MESSAGES: BoundedNumber = BoundedNumber {
    field: "messages_max",
    default: 50,
    max: 1_000,
};
/// Most bytes of the newest events that a context is selected from; older units are omitted.
pub const CONTEXT_BYTES_MAX: u64 = 16 * 1024 * 1024;
