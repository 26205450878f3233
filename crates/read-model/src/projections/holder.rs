//! Who holds a lease.

/// A projector, named apart from every other one and from its own earlier runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Holder(pub String);
