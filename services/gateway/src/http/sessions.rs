//! `/api/sessions`: sessions are issued to callers without a user. A user can take over the conversations of a session,
//! and return them.

pub mod claim_session;
pub mod issue_session;
pub mod release_chat;
