//! Free TCP ports of the loopback interface.

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU16, Ordering};

use crate::error::StackError;

/// Below the range that systems give to outgoing connections, which would otherwise take a server's port between two of
/// its lives.
const PORTS: Range<u16> = 10_000..32_000;

/// Where this process looks next: a random beginning, since other processes look at the same time.
static NEXT: LazyLock<AtomicU16> = LazyLock::new(|| {
    let random = RandomState::new().hash_one(std::process::id());
    let span = u64::from(PORTS.end - PORTS.start);
    AtomicU16::new(PORTS.start + u16::try_from(random % span).unwrap_or(0))
});

/// `preferred` when nothing listens on it, else another free one. Another process may take it before the server does: the
/// server then ends at once and is started on another one.
pub(crate) fn choose(preferred: Option<u16>) -> Result<u16, StackError> {
    if let Some(port) = preferred
        && is_free(port)
    {
        return Ok(port);
    }
    for _ in PORTS {
        let port = NEXT.fetch_add(1, Ordering::Relaxed);
        if !PORTS.contains(&port) {
            NEXT.store(PORTS.start, Ordering::Relaxed);
        } else if is_free(port) {
            return Ok(port);
        }
    }
    Err(StackError::NoPort {
        source: io::ErrorKind::AddrInUse.into(),
    })
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_is_replaced() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = taken.local_addr().expect("address").port();
        let chosen = choose(Some(port)).expect("a port");
        assert!(chosen != port && chosen != 0);
    }
}
