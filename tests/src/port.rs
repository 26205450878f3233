//! Ports that stay reserved for a role while it is stopped, killed and started again.

use std::net::{Ipv4Addr, SocketAddr};

/// A loopback address on which nothing listens; given out once.
///
/// # Panics
/// When no port is free.
#[must_use]
pub fn free() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, block(1)))
}

/// The first of several consecutive ports on which nothing listens; given out once.
///
/// # Panics
/// When there are none.
#[must_use]
pub fn block(ports: u16) -> u16 {
    devstack::port::reserve(ports).expect("free ports")
}
