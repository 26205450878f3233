//! The AI SDK's chat as its transport speaks it, so that `useChat` works with nothing but a URL and an API key.
//!
//! Of the history that each request carries only its end is read: the history itself is in the record.

pub mod follow_ui_chat;
mod going_back;
mod named_chat;
pub mod send_ui_messages;
pub mod stop_ui_chat;
