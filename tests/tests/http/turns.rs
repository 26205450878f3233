//! Turns with answers of models: tools, failures, and interrupted and resumed streams.

mod answers;
mod approvals;
mod closed_runs;
mod event_ids;
mod failures;
pub(crate) mod fixture;
mod killed_gateway;
mod model_errors;
mod outcomes;
mod restart;
mod roles;
mod silent_runs;
mod slow_model;
pub(crate) mod sse;
mod streams;
mod structured_answers;
mod surfaces;
mod titles;
mod tool_call_details;
mod tools;
mod unusable_calls;

use tests::model;
