//! `/v1/chat`.

mod given_history;
mod sessions;
