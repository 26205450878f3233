//! `/openai/v1`: APIs of OpenAI for back ends, which only change the base URL and the key of their client.
//!
//! The base URL is not `/v1`, because `/v1/conversations` has other names and another error format. An agent is a model: its id is
//! the name of the model, and `agent/model` names another model that the agent allows.
//!
//! [`caller`] identifies the back end and the end user, [`requested_model`] finds the agent and the model of a request, [`errors`]
//! converts every problem to OpenAI's format. The crate `openai_api` reads requests and makes items and answers. Endpoints return an
//! `HttpProblem`, like all others. Folders follow the URLs.

pub mod caller;
pub mod completions;
pub mod conversations;
pub mod errors;
pub mod models;
pub mod requested_model;
pub mod responses;

mod rejected;
mod retry_count;

/// The path of the base URL.
pub const BASE_PATH: &str = "/openai/v1";
