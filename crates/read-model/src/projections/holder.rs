//! The holder of a lease.

/// The name of a projector process, unique among projectors and restarts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Holder(pub String);
