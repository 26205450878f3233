//! `/openai/v1/responses`: OpenAI's Responses API. A response is a run, and its input and output are events of a conversation.
//!
//! A response that is stored is recorded in the conversation that it names, or else in one of its own. A response with
//! `previous_response_id` continues the conversation of that response: at its end, or in a fork if other events follow it.
//! No table maps ids: the id of a response contains its conversation, its run and the version of its start.
//!
//! `openai_api::responses` reads a request, `placement` decides where it is recorded, `recorded` reads a response from the record,
//! [`stream`] turns the parts of a run into events.

pub mod cancel_response;
pub mod create_response;
pub mod delete_response;
pub mod get_response;
mod input;
pub mod list_input_items;
mod placement;
mod recorded;
pub mod response_query;
mod started;
mod stateless;
pub mod stream;
