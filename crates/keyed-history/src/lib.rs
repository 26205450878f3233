//! History by a caller's key, for callers that know a chat by what its channel calls it, and not by a conversation's id.
//!
//! [`key::resolve`] makes the key from the caller's rules and variables, [`ids`] derives the ids that its history is
//! kept under, and [`merge::merge`] puts what is stored and what the caller has into one history, and says what is new. All
//! of it is pure: who calls reads and records.

pub mod bounds;
pub mod ids;
pub mod key;
pub mod merge;
pub mod pairing;
pub mod refused;
pub mod template;
pub mod variables;

pub use ids::{CHANNEL_KEY_BYTES, HistoryIds, Namespace};
pub use key::{HistoryKey, KeyRules, Resolution, resolve};
pub use merge::{Merged, MessagesMax, Stored, merge};
pub use refused::{Refused, RefusedReason};
pub use variables::Variables;
