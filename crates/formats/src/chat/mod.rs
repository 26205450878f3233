//! What OpenAI's chat completions and Ollama's chat share: messages that are mostly text, and a reply that is one message
//! with its calls.
//!
//! It knows neither's wire shapes: [`writing`] says what becomes of contents where only text is taken, [`reading`] how
//! texts become the domain's ids and documents, [`draft`] and [`call_drafts`] how a reply grows, [`open_calls`] which call
//! a result answers.

pub(crate) mod call_drafts;
pub(crate) mod draft;
pub(crate) mod open_calls;
pub(crate) mod reading;
pub(crate) mod writing;

#[cfg(test)]
pub(crate) mod fixtures;
