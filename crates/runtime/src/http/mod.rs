//! The HTTP server that a service runs.
//!
//! Owns what all requests share: connections, admission, time, the size of headers and bodies, panics, problems, traces,
//! metrics and the drain. Knows no route's meaning.
//!
//! A request holds one of `requests_max` places until its answer is sent, and has `request_timeout_ms` for it. A handler
//! that streams takes an [`OpenStream`] first: its answer holds one of `streams_max` places instead and has no timeout; in a drain
//! it is told by [`Draining`] and ends itself.

mod admission;
mod body;
mod config;
mod connection;
mod extract;
mod handle;
mod mistake;
mod observe;
mod problem;
mod request_id;
mod server;

pub use admission::{Draining, OpenStream};
pub use config::HttpConfig;
pub use connection::Peer;
pub use extract::{Json, Path, Query};
pub use problem::{
    CODE_BODY_TOO_LARGE, HttpProblem, PROBLEM_CONTENT_TYPE, ProblemBody, ProblemCode,
};
pub use request_id::{REQUEST_ID_HEADER, RequestId};
pub use server::{BoundHttpServer, HttpError, HttpServer};
