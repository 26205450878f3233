//! `/openai/v1/responses/{id}/cancel`.

pub mod cancel_response;
