//! The address of the client: the peer, or the address that a trusted proxy forwards.

use std::net::{IpAddr, SocketAddr};

use axum::http::HeaderMap;
use ipnet::IpNet;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// Maximum number of hops that are read, from the nearest one.
const HOPS_MAX: usize = 32;

/// The client's address: the peer's own, or, if the peer is a trusted proxy, the nearest hop of `X-Forwarded-For` that
/// is not one. Hops before it come from the client and are ignored.
#[must_use]
pub fn client_address(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let mut client = peer.to_canonical();
    let lines = headers.get_all(FORWARDED_FOR).iter();
    let texts: Vec<&str> = lines.map(|line| line.to_str().unwrap_or_default()).collect();
    let hops = texts.iter().rev().flat_map(|line| line.rsplit(','));
    for hop in hops.take(HOPS_MAX) {
        if !trusted.iter().any(|network| network.contains(&client)) {
            return client;
        }
        let Some(next) = parse(hop.trim()) else {
            return client;
        };
        client = next.to_canonical();
    }
    client
}

/// An address, with or without a port.
fn parse(hop: &str) -> Option<IpAddr> {
    let with_port = || hop.parse().ok().map(|addr: SocketAddr| addr.ip());
    let in_brackets = || hop.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    hop.parse().ok().or_else(with_port).or_else(in_brackets)
}

/// Whether the settings probably miss a proxy: a private address that is not trusted sends `X-Forwarded-For`, so all
/// clients of the proxy count as one.
#[must_use]
pub fn is_missing_proxy(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> bool {
    let peer = peer.to_canonical();
    headers.contains_key(FORWARDED_FOR) && is_private(peer) && !trusted.iter().any(|network| network.contains(&peer))
}

fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_private() || v4.is_loopback() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unique_local() || v6.is_loopback() || v6.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(peer: &str, forwarded: &[&str], expected: &str) {
        let trusted = ["10.0.0.0/8", "fd00::/8"].map(|net| net.parse().unwrap());
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append(FORWARDED_FOR, line.parse().unwrap());
        }
        let client = client_address(peer.parse().unwrap(), &headers, &trusted);
        assert_eq!(client, expected.parse::<IpAddr>().unwrap(), "{peer} {forwarded:?}");
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        check("198.51.100.7", &[], "198.51.100.7");
        check("198.51.100.7", &["203.0.113.1"], "198.51.100.7");
        check("10.0.0.1", &[], "10.0.0.1");
        check("10.0.0.1", &["203.0.113.1"], "203.0.113.1");
        check("::ffff:10.0.0.1", &["203.0.113.1"], "203.0.113.1");
        check("fd00::1", &["2001:db8::1"], "2001:db8::1");
    }

    #[test]
    fn hops_before_the_first_untrusted_one_are_ignored() {
        check("10.0.0.1", &["1.2.3.4, 203.0.113.1"], "203.0.113.1");
        check("10.0.0.1", &["1.2.3.4", "203.0.113.1"], "203.0.113.1");
        check("10.0.0.1", &["1.2.3.4, 203.0.113.1, 10.0.0.2"], "203.0.113.1");
        check("10.0.0.1", &["10.9.9.9, 203.0.113.1"], "203.0.113.1");
        check("10.0.0.1", &["1.2.3.4, nonsense"], "10.0.0.1");
        check("10.0.0.1", &["1.2.3.4,"], "10.0.0.1");
        check("10.0.0.1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3");
    }

    #[test]
    fn hops_are_read_with_ports_and_up_to_their_bound() {
        check("10.0.0.1", &["203.0.113.1:8080"], "203.0.113.1");
        check("10.0.0.1", &["[2001:db8::1]:8080"], "2001:db8::1");
        check("10.0.0.1", &["[2001:db8::1]"], "2001:db8::1");
        for (proxies, expected) in [(31, "203.0.113.1"), (32, "10.0.0.2")] {
            let line = format!("203.0.113.1{}", ",10.0.0.2".repeat(proxies));
            check("10.0.0.1", &[&line], expected);
        }
    }

    #[test]
    fn a_private_proxy_that_is_not_trusted_is_missing() {
        let trusted = ["10.0.0.0/8".parse().unwrap()];
        for (peer, forwards, expected) in [
            ("192.168.0.1", true, true),
            ("192.168.0.1", false, false),
            ("127.0.0.1", true, true),
            ("169.254.0.1", true, true),
            ("fd00::1", true, true),
            ("fe80::1", true, true),
            ("::1", true, true),
            ("::ffff:192.168.0.1", true, true),
            ("10.0.0.1", true, false),
            ("198.51.100.7", true, false),
            ("2001:db8::1", true, false),
        ] {
            let mut headers = HeaderMap::new();
            if forwards {
                headers.insert(FORWARDED_FOR, "203.0.113.1".parse().unwrap());
            }
            let forgotten = is_missing_proxy(peer.parse().unwrap(), &headers, &trusted);
            assert_eq!(forgotten, expected, "{peer} {forwards}");
        }
    }
}
