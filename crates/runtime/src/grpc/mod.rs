//! The gRPC server that every service runs, and what every call of a gRPC client carries.
//!
//! Owns what all calls share: admission, deadlines, health, reflection, traces, metrics and the
//! drain. Knows no method's meaning; it learns names and shapes from the descriptor sets.
//!
//! A unary call holds one of `calls_max` slots until its answer is ready, and has a deadline. A
//! streaming call holds one of `streams_max` slots until it ends, and has only the deadline
//! that its caller set; while its caller reads nothing, another call can take its slot.

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
mod trusted_callers;

pub use client::{Authenticated, Bearer};
pub use config::GrpcConfig;
pub use deadline::Deadline;
pub use server::{BoundGrpcServer, GrpcError, GrpcServer};

pub use crate::net::{CUT_GRACE, Drained};
