//! `/openai/v1/chat`: chat completions.

pub mod completions;
