//! Sessions: issued to callers without a user; the conversations of one that turns out to be a user's change hands, and can go
//! back. One endpoint a file.

pub mod claim_session;
pub mod issue_session;
pub mod release_chat;
