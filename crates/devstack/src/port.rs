//! TCP ports of the loopback interface, shared out among processes that start servers at the same time.

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::error::StackError;

/// Below the range that systems give to outgoing connections, which would otherwise take a server's port between two of
/// its lives.
const PORTS: Range<u16> = 10_000..32_000;

/// Ports a block, its first among them: whoever listens on that one owns the others.
const BLOCK_PORTS: u16 = 64;

/// The most ports that [`row`] gives.
pub const ROW_MAX: u16 = BLOCK_PORTS - 1;

/// The blocks that are this process's, the newest last.
static OWN: Mutex<Vec<Block>> = Mutex::new(Vec::new());

/// So many ports in a row that nothing listens on, from the first that is given. Nobody else who asks here gets them, not
/// even to look whether they are free, while this process lives: a server may be started on them, stopped, and started
/// again.
///
/// # Errors
/// [`StackError::NoPort`] when there are none, or more than [`ROW_MAX`] are asked for.
pub fn row(ports: u16) -> Result<u16, StackError> {
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(first) = own.last_mut().and_then(|block| block.take(ports)) {
        return Ok(first);
    }
    // A random place to begin at, since other processes look at the same time.
    let blocks = (PORTS.end - PORTS.start) / BLOCK_PORTS;
    let random = RandomState::new().hash_one(std::process::id()) % u64::from(blocks);
    let begin = u16::try_from(random).unwrap_or(0);
    for at in (begin..blocks).chain(0..begin) {
        if let Some(mut block) = Block::own(PORTS.start + at * BLOCK_PORTS)
            && let Some(first) = block.take(ports)
        {
            own.push(block);
            return Ok(first);
        }
    }
    Err(StackError::NoPort {
        source: io::ErrorKind::AddrInUse.into(),
    })
}

/// `preferred` when nothing listens on it, else another free one.
pub(crate) fn choose(preferred: Option<u16>) -> Result<u16, StackError> {
    match preferred {
        Some(port) if is_free(port) => Ok(port),
        _ => row(1),
    }
}

/// Ports that are this process's for as long as it lives.
struct Block {
    _owned: TcpListener,
    left: Range<u16>,
}

impl Block {
    /// The block that begins at `first`, unless it is another's.
    fn own(first: u16) -> Option<Self> {
        let owned = TcpListener::bind((Ipv4Addr::LOCALHOST, first)).ok()?;
        Some(Self {
            _owned: owned,
            left: first + 1..first + BLOCK_PORTS,
        })
    }

    /// The first of so many of its ports that nothing listens on, all of them behind those given before.
    fn take(&mut self, ports: u16) -> Option<u16> {
        while let Some(end) = self.left.start.checked_add(ports)
            && end <= self.left.end
        {
            let first = self.left.start;
            let taken = (first..end).rev().find(|port| !is_free(*port));
            self.left.start = taken.map_or(end, |port| port + 1);
            if taken.is_none() {
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
    fn a_taken_port_is_replaced() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = taken.local_addr().expect("address").port();
        let chosen = choose(Some(port)).expect("a port");
        assert!(chosen != port && chosen != 0);
    }

    #[test]
    fn no_port_is_given_twice_even_if_nothing_listens_on_it() {
        let givers: Vec<_> = (0..4)
            .map(|_| std::thread::spawn(|| (0..100).map(|_| row(1)).collect::<Vec<_>>()))
            .collect();
        let mut given = HashSet::new();
        for giver in givers {
            for port in giver.join().expect("ports") {
                assert!(given.insert(port.expect("a port")));
            }
        }
        assert_eq!(given.len(), 400);
    }

    #[test]
    fn a_block_is_its_owners() {
        // What would be its last port is the first of somebody else's block.
        let first = row(ROW_MAX).expect("a row");
        let mut block = Block::own(first).expect("a block");
        assert!(Block::own(first).is_none());
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, first + 3)).expect("a port");
        assert_eq!(block.take(3), Some(first + 4));
        assert_eq!(block.take(BLOCK_PORTS - 8), Some(first + 7));
        assert_eq!(block.take(2), None);
        drop((block, taken));
        assert!(Block::own(first).is_some());
    }

    #[test]
    fn a_row_has_its_bound() {
        let first = row(ROW_MAX).expect("a row");
        assert!((first..first + ROW_MAX).all(is_free));
        assert!(matches!(row(ROW_MAX + 1), Err(StackError::NoPort { .. })));
    }
}
