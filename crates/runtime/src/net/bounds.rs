//! The bounds of the settings that servers of every protocol have.

use crate::config::Bounds;

/// The longest time that a call or a request may take.
pub(crate) const TIMEOUT: Bounds<u64> = Bounds {
    min: 1,
    max: 600_000,
    unit: "ms",
};

/// Streams open at once.
pub(crate) const STREAMS: Bounds<usize> = Bounds {
    min: 1,
    max: 1_000_000,
    unit: "streams",
};

/// Connections at once.
pub(crate) const CONNECTIONS: Bounds<usize> = Bounds {
    min: 1,
    max: 100_000,
    unit: "connections",
};

/// What must arrive of a body in each of its timeouts.
pub(crate) const PROGRESS: Bounds<usize> = Bounds {
    min: 1,
    max: 1024 * 1024,
    unit: "bytes",
};

/// How long what is in flight may go on once a server ends.
pub(crate) const DRAIN: Bounds<u64> = Bounds {
    min: 0,
    max: 600_000,
    unit: "ms",
};

/// When who was shed should try again.
pub(crate) const RETRY_AFTER: Bounds<u64> = Bounds {
    min: 1,
    max: 60_000,
    unit: "ms",
};
