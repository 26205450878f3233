//! The bounds of settings that gRPC and HTTP servers share.

use crate::config::Bounds;

/// The timeout of a call or request.
pub(crate) const TIMEOUT: Bounds<u64> = Bounds {
    min: 1,
    max: 600_000,
    unit: "ms",
};

/// Open streams.
pub(crate) const STREAMS: Bounds<usize> = Bounds {
    min: 1,
    max: 1_000_000,
    unit: "streams",
};

/// Open connections.
pub(crate) const CONNECTIONS: Bounds<usize> = Bounds {
    min: 1,
    max: 100_000,
    unit: "connections",
};

/// Bytes of a body that must arrive in each interval.
pub(crate) const PROGRESS: Bounds<usize> = Bounds {
    min: 1,
    max: 1024 * 1024,
    unit: "bytes",
};

/// The time for calls in flight after the shutdown begins.
pub(crate) const DRAIN: Bounds<u64> = Bounds {
    min: 0,
    max: 600_000,
    unit: "ms",
};

/// The retry delay of rejected callers.
pub(crate) const RETRY_AFTER: Bounds<u64> = Bounds {
    min: 1,
    max: 60_000,
    unit: "ms",
};
