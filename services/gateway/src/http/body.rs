//! JSON of conversations, events and logged calls, the same in every endpoint.

mod content;
mod conversation;
mod fact;
mod from_fact;
mod instant;
mod json_line;
mod new_event;
mod new_message;
mod new_part;
mod provider_log;

pub use content::{PartBody, Verbatim, json_text, texts};
pub use conversation::{ContextBody, ConversationBody, ForkPointBody, OwnerBody, StatusName, TotalsBody};
pub use fact::{EventBody, FactBody, MessageContentBody, UsageBody};
pub use instant::{rfc3339, timestamp};
pub use json_line::json_line;
pub use new_event::NewEventBody;
pub use new_message::NewMessageBody;
pub use provider_log::{LoggedBodyBody, ProviderLogBody, PurposeName};
