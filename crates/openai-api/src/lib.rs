//! OpenAI's Chat Completions, Responses and items. Pure: requests become facts and settings, and facts become answers.
//!
//! It knows no listener, no state and no store: the gateway reads a request, records or answers it, and writes the answer with this crate.
//! Errors name the field of the request. Source: <https://platform.openai.com/docs/api-reference>.

pub mod completions;
pub mod conversation_ids;
mod function_tool;
pub mod items;
pub mod metadata;
pub mod responses;
mod sampling;
mod verbatim;
pub mod wrong_field;
