//! `/api/chats`: conversations, their pages of messages, exports, forks and erasures.

mod erased_forks;
mod export;
mod fork;
mod frontend_settings;
mod lifecycle;
mod long_erasure;
mod message_details;
mod message_pages;
mod new_chats;
