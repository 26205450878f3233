//! Builders of transcripts for the tests of the formats, and short descriptions of facts and renderings.

pub(crate) mod chat;
pub(crate) mod gemini;
pub(crate) mod openai_responses;
