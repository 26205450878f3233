//! Ports that stay a role's own while it is stopped, killed and started again.

use std::net::{Ipv4Addr, SocketAddr};

/// An address of the loopback interface that nothing listens on, given out once.
///
/// # Panics
/// When every port is taken.
#[must_use]
pub fn free() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, block(1)))
}

/// The first of so many ports in a row that nothing listens on, given out once.
///
/// # Panics
/// When there are none.
#[must_use]
pub fn block(ports: u16) -> u16 {
    devstack::port::reserve(ports).expect("free ports")
}
