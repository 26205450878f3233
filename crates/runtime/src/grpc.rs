//! The gRPC server of every service, and the interceptor of gRPC clients.
//!
//! It contains what all calls share: admission, deadlines, health, reflection, traces, metrics and the drain.
//! Names and kinds of methods come from the descriptor sets.
//!
//! A unary call holds one of `calls_max` slots until its response is ready, and has a deadline. A streaming
//! call holds one of `streams_max` slots until it ends, and has only the deadline that its caller set. While
//! its caller reads nothing, another call can take its slot.

mod admission;
mod call;
mod client;
mod config;
mod deadline;
mod health;
mod method;
mod observe;
mod rules;
mod server;
mod stream;

pub use client::{Authenticated, Bearer};
pub use config::GrpcConfig;
pub use deadline::Deadline;
pub use server::{BoundGrpcServer, GrpcError, GrpcServer};

pub use crate::net::{CUT_GRACE, Drained};
