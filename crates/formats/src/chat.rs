//! Code that OpenAI chat completions and Ollama share: messages of text, and replies of one message with calls.
//!
//! Independent of their JSON: [`texts`] renders parts as texts, [`draft`] and
//! [`call_drafts`] assemble replies, [`open_calls`] matches results to calls.

pub(crate) mod call_drafts;
pub(crate) mod draft;
pub(crate) mod open_calls;
pub(crate) mod texts;
