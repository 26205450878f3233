//! An entry of the egress settings: a network, or a host name.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::address::canonical;

/// Maximum bytes of a host name (the bound of DNS).
pub const HOST_BYTES_MAX: usize = 253;

/// A network (`10.0.0.0/8`, `::1`) or a host (`hooks.internal`, without its subdomains).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Destination {
    /// Every address of the network.
    Network(IpNet),
    /// The host, at any address. In lower case, without a dot at the end.
    Host(String),
}

/// A text that is neither a network nor a host.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is neither a network, such as 10.0.0.0/8, nor a host, such as hooks.internal")]
pub struct DestinationError(String);

impl Destination {
    /// Whether the entry matches a host at an address.
    #[must_use]
    pub fn contains(&self, host: &str, address: IpAddr) -> bool {
        match self {
            Self::Network(network) => network.contains(&canonical(address)),
            Self::Host(_) => self.matches_name(host),
        }
    }

    /// Whether the entry matches a host by its name.
    #[must_use]
    pub fn matches_name(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        matches!(self, Self::Host(name) if name.eq_ignore_ascii_case(host))
    }
}

impl FromStr for Destination {
    type Err = DestinationError;

    fn from_str(text: &str) -> Result<Self, DestinationError> {
        let network =
            text.parse::<IpNet>().map(|network| network.trunc()).or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        if let Ok(network) = network {
            return Ok(Self::Network(network));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        let is_label = |label: &str| {
            let mut bytes = label.bytes();
            !label.is_empty() && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        };
        // A name that ends in a number is a malformed address.
        let is_address = |name: &str| {
            let last = name.rsplit('.').next().unwrap_or_default();
            last.bytes().all(|b| b.is_ascii_digit())
        };
        if name.len() > HOST_BYTES_MAX || !name.split('.').all(is_label) || is_address(name) {
            return Err(DestinationError(text.to_owned()));
        }
        Ok(Self::Host(name.to_ascii_lowercase()))
    }
}

impl TryFrom<String> for Destination {
    type Error = DestinationError;

    fn try_from(text: String) -> Result<Self, DestinationError> {
        text.parse()
    }
}

impl From<Destination> for String {
    fn from(destination: Destination) -> Self {
        destination.to_string()
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(network) => network.fmt(f),
            Self::Host(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_and_written() {
        let check = |text: &str, expected: Option<&str>| {
            let parsed = text.parse::<Destination>().ok();
            let shown = parsed.map(|destination| destination.to_string());
            assert_eq!(shown.as_deref(), expected, "{text}");
        };
        check("10.0.0.0/8", Some("10.0.0.0/8"));
        check("10.1.2.3/8", Some("10.0.0.0/8"));
        check("127.0.0.1", Some("127.0.0.1/32"));
        check("::1", Some("::1/128"));
        check("Hooks.Internal.", Some("hooks.internal"));
        check("nats", Some("nats"));
        let longest = format!("{}a", "a.".repeat((HOST_BYTES_MAX - 1) / 2));
        check(&longest, Some(&longest));
        check(&format!("a{longest}"), None);
        for wrong in ["", ".", "a..b", "a b", "http://a", "a:80", "*.a", "1"] {
            check(wrong, None);
        }
        check("10.0.0.0/33", None);
        check("10.0.0.256", None);
    }

    #[test]
    fn hosts_match_by_name_and_networks_by_address() {
        let check = |entry: &str, host: &str, address: &str, expected: bool| {
            let entry: Destination = entry.parse().unwrap();
            let contains = entry.contains(host, address.parse().unwrap());
            assert_eq!(contains, expected, "{entry} {host} {address}");
        };
        check("hooks.internal", "hooks.internal", "10.0.0.1", true);
        check("hooks.internal", "HOOKS.internal.", "10.0.0.1", true);
        check("hooks.internal", "a.hooks.internal", "10.0.0.1", false);
        check("10.0.0.0/8", "a.example", "10.255.255.255", true);
        check("10.0.0.0/8", "a.example", "11.0.0.0", false);
        check("10.0.0.0/8", "a.example", "::ffff:10.0.0.1", true);
        check("::/0", "a.example", "::ffff:10.0.0.1", false);
        check("::/0", "a.example", "64:ff9b::10.0.0.1", false);
    }
}
