//! `/openai/v1/responses/{id}/input_items`: what a response answers.

pub mod list_input_items;
