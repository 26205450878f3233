//! `/api/chat`: the AI SDK's own requests.

pub(crate) mod ai_sdk;
mod clients;
mod data_parts;
mod edits;
