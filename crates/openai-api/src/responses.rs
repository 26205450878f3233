//! Responses: requests, objects and events of streams.

pub mod event;
pub mod object;
pub mod open_items;
pub mod output;
pub mod parameters;
pub mod request;
pub mod response_id;
pub mod streamed_item;
mod text_format;
mod tools;
