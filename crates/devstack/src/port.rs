//! Free TCP ports of the loopback interface.

use std::net::{Ipv4Addr, TcpListener};

use crate::error::StackError;

/// `preferred` when nothing listens on it, else a port that the system picks. Another process may take it
/// before the server does: the server then ends at once and is started on another one.
pub(crate) fn choose(preferred: Option<u16>) -> Result<u16, StackError> {
    if let Some(port) = preferred
        && is_free(port)
    {
        return Ok(port);
    }
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|source| StackError::NoPort { source })
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
