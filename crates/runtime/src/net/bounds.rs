//! The bounds of settings that gRPC and HTTP servers share.

use crate::config::Bounds;

/// The timeout of a call or request.
pub(crate) const TIMEOUT: Bounds<u64> = Bounds::new(1..=600_000, "ms");

pub(crate) const STREAMS: Bounds<usize> = Bounds::new(1..=1_000_000, "streams");

pub(crate) const CONNECTIONS: Bounds<usize> = Bounds::new(1..=100_000, "connections");

/// The time for calls in flight after the shutdown begins.
pub(crate) const DRAIN: Bounds<u64> = Bounds::new(0..=600_000, "ms");
