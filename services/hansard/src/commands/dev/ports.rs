//! Ports that stay the same from run to run, where nobody else has them.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::str::FromStr;

/// The base, unless asked otherwise; the writer's and the gateway's own defaults follow from it.
const DEFAULT: u16 = 7_300;
/// The highest port above the base.
const SPAN: u16 = 30;

/// The port that all others are counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortBase(u16);

impl Default for PortBase {
    fn default() -> Self {
        Self(DEFAULT)
    }
}

impl FromStr for PortBase {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let most = u16::MAX - SPAN;
        match text.parse() {
            Ok(base) if (1..=most).contains(&base) => Ok(Self(base)),
            _ => Err(format!("is no port from 1 to {most}")),
        }
    }
}

impl fmt::Display for PortBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PortBase {
    /// Of the writer.
    #[must_use]
    pub fn writer(self) -> u16 {
        self.0 + 1
    }

    /// Of the gateway.
    #[must_use]
    pub fn gateway(self) -> u16 {
        self.0 + 2
    }

    /// Of the gateway's HTTP door.
    #[must_use]
    pub fn gateway_http(self) -> u16 {
        self.0 + 3
    }

    /// Of the writer's metrics.
    #[must_use]
    pub fn writer_admin(self) -> u16 {
        self.0 + 11
    }

    /// Of the gateway's metrics.
    #[must_use]
    pub fn gateway_admin(self) -> u16 {
        self.0 + 12
    }

    /// Of the projector's metrics.
    #[must_use]
    pub fn projector_admin(self) -> u16 {
        self.0 + 13
    }

    /// Of NATS.
    #[must_use]
    pub fn nats(self) -> u16 {
        self.0 + 20
    }

    /// Of Postgres.
    #[must_use]
    pub fn postgres(self) -> u16 {
        self.0 + SPAN
    }
}

/// The address to listen at: `port` of the loopback interface, or any free one when that is taken.
#[must_use]
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
    fn a_taken_port_is_left_to_its_owner() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert_eq!(local(taken.local_addr().unwrap().port()).port(), 0);
    }

    #[test]
    fn the_base_leaves_room_for_all_ports() {
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
