//! `/api/chat`: the AI SDK's chat, as its transport sends it. `useChat` needs only a URL and an API key.
//!
//! Each request carries the page's whole history. Only its end is read: the history itself is in the record.

pub mod follow_ui_chat;
pub mod send_ui_messages;
pub mod stop_ui_chat;
