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
    for _ in FIRST..LAST {
        let port = NEXT.fetch_add(1, Ordering::Relaxed);
        if port >= LAST {
            NEXT.store(FIRST, Ordering::Relaxed);
            continue;
        }
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        if TcpListener::bind(addr).is_ok() {
            return addr;
        }
    }
    panic!("no free port between {FIRST} and {LAST}");
}
