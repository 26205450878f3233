//! `provider_logs`: what model servers were asked and answered, and what models used, from the stream of calls.
//!
//! One projector at a time holds it ([`take`]); calls and checkpoint are written in one transaction ([`apply()`]), which
//! goes through from where the checkpoint stands and nowhere else. A conversation's projection takes the rows of what it
//! erases: an advisory lock puts it in order with the writes here, so that no row outlives its conversation.

mod apply;
mod expire;
mod hold;
mod usage;

pub use apply::{LogBatch, LogsApplyError, PlacedCall, apply};
pub use expire::{EXPIRED_PER_CALL_MAX, expire};
pub use hold::{checkpoint, restart, take};
pub use usage::{
    OWNER_USAGE_KEPT_DAYS, PlacedUsage, USAGE_EXPIRED_PER_CALL_MAX, USAGE_KEPT_DAYS, expire_usage,
    forget_owner_usage,
};

pub(crate) use apply::lock_out;
