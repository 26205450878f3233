//! TCP ports of the loopback interface. Processes that start servers at the same time get different ports.

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::error::StackError;

/// Below the ephemeral ports of outgoing connections, which could take the port of a server while it restarts.
const PORTS: Range<u16> = 10_000..32_000;

/// Number of ports in a block. The process that listens on the first port owns the block.
const BLOCK_PORTS: u16 = 64;

/// Maximum number of ports of [`reserve`].
pub const RESERVE_MAX: u16 = BLOCK_PORTS - 1;

/// The blocks of this process, the newest last.
static BLOCKS: Mutex<Vec<Block>> = Mutex::new(Vec::new());

/// Reserves consecutive free ports, and returns the first. Other processes that use this function do not get or probe them
/// while this process lives: a server can be started on them, stopped, and started again.
///
/// # Errors
/// [`StackError::NoPort`]: there are no such ports, or `ports` is above [`RESERVE_MAX`].
pub fn reserve(ports: u16) -> Result<u16, StackError> {
    let mut blocks = BLOCKS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(first) = blocks.last_mut().and_then(|block| block.take(ports)) {
        return Ok(first);
    }
    // The search starts at a random block, since other processes search at the same time.
    let count = (PORTS.end - PORTS.start) / BLOCK_PORTS;
    let random = RandomState::new().hash_one(std::process::id()) % u64::from(count);
    let start = u16::try_from(random).unwrap_or(0);
    for at in (start..count).chain(0..start) {
        if let Some(mut block) = Block::bind(PORTS.start + at * BLOCK_PORTS)
            && let Some(first) = block.take(ports)
        {
            blocks.push(block);
            return Ok(first);
        }
    }
    Err(StackError::NoPort(io::ErrorKind::AddrInUse.into()))
}

/// `preferred` if it is free, else another free port.
pub(crate) fn choose(preferred: Option<u16>) -> Result<u16, StackError> {
    match preferred {
        Some(port) if is_free(port) => Ok(port),
        _ => reserve(1),
    }
}

/// Ports that this process owns while it lives.
struct Block {
    _owner: TcpListener,
    free: Range<u16>,
}

impl Block {
    /// The block that starts at `first`; `None` if another process owns it.
    fn bind(first: u16) -> Option<Self> {
        let owner = TcpListener::bind((Ipv4Addr::LOCALHOST, first)).ok()?;
        Some(Self { _owner: owner, free: first + 1..first + BLOCK_PORTS })
    }

    /// Takes consecutive free ports, and returns the first.
    fn take(&mut self, ports: u16) -> Option<u16> {
        while let Some(end) = self.free.start.checked_add(ports)
            && end <= self.free.end
        {
            let first = self.free.start;
            let used = (first..end).rev().find(|port| !is_free(*port));
            self.free.start = used.map_or(end, |port| port + 1);
            if used.is_none() {
                return Some(first);
            }
        }
        None
    }
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_used_port_is_replaced() {
        let used = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = used.local_addr().expect("address").port();
        let chosen = choose(Some(port)).expect("a port");
        assert!(chosen != port && chosen != 0);
    }

    #[test]
    fn no_port_is_reserved_twice_even_if_nothing_listens_on_it() {
        let threads: Vec<_> =
            (0..4).map(|_| std::thread::spawn(|| (0..100).map(|_| reserve(1)).collect::<Vec<_>>())).collect();
        let mut reserved = HashSet::new();
        for thread in threads {
            for port in thread.join().expect("ports") {
                assert!(reserved.insert(port.expect("a port")));
            }
        }
        assert_eq!(reserved.len(), 400);
    }

    #[test]
    fn one_process_owns_a_block() {
        // The ports of a reservation serve as the block of this test.
        let first = reserve(RESERVE_MAX).expect("ports");
        let mut block = Block::bind(first).expect("a block");
        assert!(Block::bind(first).is_none());
        let used = TcpListener::bind((Ipv4Addr::LOCALHOST, first + 3)).expect("a port");
        assert_eq!(block.take(3), Some(first + 4));
        assert_eq!(block.take(BLOCK_PORTS - 8), Some(first + 7));
        assert_eq!(block.take(2), None);
        drop((block, used));
        assert!(Block::bind(first).is_some());
    }

    #[test]
    fn a_reservation_is_bounded() {
        let first = reserve(RESERVE_MAX).expect("ports");
        assert!((first..first + RESERVE_MAX).all(is_free));
        let error = reserve(RESERVE_MAX + 1);
        assert!(matches!(error, Err(StackError::NoPort { .. })));
    }
}
