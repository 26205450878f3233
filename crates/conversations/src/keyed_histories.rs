//! Histories under a caller's key, for gRPC (`history_rpc`) and HTTP (`http/v1/histories`).
//!
//! Failures of the store are warnings, so that the caller can continue with its own messages. The crate `keyed_history`
//! decides which keys are valid and which messages are new. Appends go to the writer under the caller's own token.

mod load;
mod location;
mod messages;
mod record;
mod record_error;
pub mod stored_history;
mod warning;

pub use load::{LoadedHistory, MESSAGES, load};
pub use location::HistoryLocation;
pub use messages::{CURRENT_MESSAGES_MAX, parse as parse_messages};
pub use record::{RecordedHistory, Recording, record};
pub use warning::Warning;
