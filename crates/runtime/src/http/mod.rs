//! The HTTP server that a service runs.
//!
//! Owns what all requests share: connections, admission, time, the size of headers and bodies, panics, problems, traces,
//! metrics and the drain. Knows no route's meaning.
//!
//! A request holds one of `requests_max` slots until its response is sent, and has `request_timeout_ms` for it. A handler
//! that streams takes an [`OpenStream`] first: its response holds one of `streams_max` slots instead and has no timeout; in a
//! drain it is told by [`Draining`] and ends itself. A rejection holds no slot, and a slot whose client does nothing can be
//! taken by another request.

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
pub use extract::{Json, Path, Query};
pub use problem::{
    CODE_BODY_TOO_LARGE, HttpProblem, PROBLEM_CONTENT_TYPE, ProblemBody, ProblemCode,
};
pub use request_id::REQUEST_ID_HEADER;
pub use server::{BoundHttpServer, HttpError, HttpServer};

pub use tower_http::request_id::RequestId;

pub use crate::net::{ConnectionConfig, Peer, address_key};
