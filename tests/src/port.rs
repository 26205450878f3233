//! Ports that stay a role's own while it is stopped, killed and started again.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU16, Ordering};

use rand::RngExt as _;

/// Below the range that systems give to outgoing connections, which would otherwise take a port between two lives.
const FIRST: u16 = 10_000;
const LAST: u16 = 30_000;

/// Where this process looks next: a random beginning, since other tests look at the same time.
static NEXT: LazyLock<AtomicU16> =
    LazyLock::new(|| AtomicU16::new(rand::rng().random_range(FIRST..LAST)));

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
    for _ in FIRST..LAST {
        let first = NEXT.fetch_add(ports, Ordering::Relaxed);
        if first >= LAST {
            NEXT.store(FIRST, Ordering::Relaxed);
        } else if (first..first + ports).all(is_free) {
            return first;
        }
    }
    panic!("no {ports} free ports between {FIRST} and {LAST}");
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}
