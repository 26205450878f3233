//! The projection `provider_logs`: requests to model servers, their replies, and the usage of models, from the stream of calls.
//!
//! One projector at a time holds the lease ([`take`]). [`apply()`] writes calls and checkpoint in one transaction, which
//! succeeds only if the checkpoint has the expected sequence. The projection of conversations deletes the rows of erased
//! conversations; an advisory lock orders both, so that no row outlives its conversation.

mod apply;
mod corrections;
mod expire;
mod lease;
mod usage;

pub use apply::{LogBatch, LogsApplyError, StoredCall, apply};
pub use corrections::StoredCorrection;
pub use expire::{EXPIRED_PER_CALL_MAX, expire};
pub use lease::{checkpoint, restart, take};
pub use usage::{
    OWNER_USAGE_KEPT_DAYS, StoredUsage, USAGE_EXPIRED_PER_CALL_MAX, USAGE_KEPT_DAYS, delete_owner_usage, expire_usage,
};

pub(crate) use apply::erase;
