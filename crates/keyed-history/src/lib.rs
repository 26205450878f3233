//! Histories by a caller's key, for callers that have the channel's key of a chat and no conversation id.
//!
//! [`key::resolve`] computes the key from the caller's rules and variables, [`ids`] derives the ids of its history, and
//! [`merge::merge`] merges the stored messages with the caller's and lists the new ones. All of it is pure: the caller reads
//! and records. [`document_ids`] derives the ids of documents in the same way.

pub mod bounds;
pub mod document_ids;
pub mod ids;
pub mod key;
pub mod merge;
pub mod pairing;
pub mod refused;
pub mod template;
pub mod variables;

pub use document_ids::DocumentIds;
pub use ids::{CHANNEL_KEY_BYTES, HistoryIds, Namespace};
pub use key::{HistoryKey, KeyRules, Resolution, resolve};
pub use merge::{MergedHistory, MessagesMax, StoredHistory, merge};
pub use refused::{RefusedKey, RefusedReason};
pub use variables::Variables;
