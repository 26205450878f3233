//! The ports of `hansard dev`: the same in every run, unless another process uses them.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::str::FromStr;

/// The default base; the default ports of the writer and the gateway follow from it.
const DEFAULT: u16 = 7_300;
/// The distance of the highest port from the base.
const SPAN: u16 = 30;

/// The base to which each server's offset is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PortBase(u16);

impl Default for PortBase {
    fn default() -> Self {
        Self(DEFAULT)
    }
}

impl FromStr for PortBase {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let max = u16::MAX - SPAN;
        match text.parse() {
            Ok(base) if (1..=max).contains(&base) => Ok(Self(base)),
            _ => Err(format!("must be a port from 1 to {max}")),
        }
    }
}

impl fmt::Display for PortBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The port of each listener; `admin` listeners serve metrics.
impl PortBase {
    pub(crate) fn writer(self) -> u16 {
        self.0 + 1
    }
    pub(crate) fn gateway(self) -> u16 {
        self.0 + 2
    }
    pub(crate) fn gateway_http(self) -> u16 {
        self.0 + 3
    }
    pub(crate) fn writer_admin(self) -> u16 {
        self.0 + 11
    }
    pub(crate) fn gateway_admin(self) -> u16 {
        self.0 + 12
    }
    pub(crate) fn projector_admin(self) -> u16 {
        self.0 + 13
    }
    pub(crate) fn nats(self) -> u16 {
        self.0 + 20
    }
    pub(crate) fn postgres(self) -> u16 {
        self.0 + SPAN
    }
}

/// The loopback address with `port`, or with port 0 (any free port) if `port` is in use.
pub(super) fn local(port: u16) -> SocketAddr {
    let preferred = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    match TcpListener::bind(preferred) {
        Ok(_) => preferred,
        Err(_) => SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_in_use_is_replaced() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert_eq!(local(taken.local_addr().unwrap().port()).port(), 0);
    }

    #[test]
    fn bases_whose_ports_exceed_the_range_are_rejected() {
        let check = |text: &str, port| {
            assert_eq!(text.parse().ok().map(PortBase::postgres), port, "{text}");
        };
        check("7300", Some(7_330));
        check("65505", Some(65_535));
        check("65506", None);
        check("0", None);
        check("x", None);
    }
}
