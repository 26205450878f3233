//! The HTTP server of a service.
//!
//! It contains what all requests share: connections, admission, timeouts, limits of headers and bodies, panics, problems,
//! traces, metrics and the drain. Services define the routes.
//!
//! A request holds one of `requests_max` slots until its response is sent, at most `request_timeout_ms`. The handler of a
//! stream takes a [`StreamSlot`] first: its response holds one of `streams_max` slots instead, and has no timeout. In a
//! drain, [`DrainSignal`] asks the handler to end. A rejection holds no slot. Another request can take the slot of a request
//! whose client makes no progress.

mod admission;
mod body;
mod config;
mod extract;
pub mod field_names;
mod handle;
mod observe;
mod parse_error;
mod problem;
mod request_id;
mod server;
mod service_errors;

pub use admission::{DrainSignal, StreamSlot};
pub use config::HttpConfig;
pub use extract::{Json, Path, Query, from_json_value, parse_json};
pub use problem::{CODE_BODY_TOO_LARGE, HttpProblem, PROBLEM_CONTENT_TYPE, ProblemBody};
pub use request_id::REQUEST_ID_HEADER;
pub use server::{BoundHttpServer, HttpError, HttpServer};

pub use tower_http::request_id::RequestId;

pub use crate::net::{ConnectionConfig, Peer, TransportLimits, address_key};
