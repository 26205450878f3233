//! Sessions that turn out to be a user's: their conversations change hands, and can go back. One endpoint a file.

pub mod claim_session;
pub mod release_chat;
