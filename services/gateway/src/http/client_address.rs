//! Who asks, by address: the peer, or whom a trusted proxy names.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::http::HeaderMap;
use ipnet::IpNet;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// The most hops that are looked at, from the nearest on.
const HOPS_MAX: usize = 32;

/// The network of one IPv6 subscriber, who has every address in it.
const SUBSCRIBER_MASK: Ipv6Addr = Ipv6Addr::new(0xffff, 0xffff, 0xffff, 0xffff, 0, 0, 0, 0);

/// The client's address: the peer's own, or, where the peer is a trusted proxy, the nearest hop of `X-Forwarded-For` that
/// is none. What stands before that hop is the client's own word, and is not believed.
#[must_use]
pub fn client_address(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let mut client = peer.to_canonical();
    let lines = headers.get_all(FORWARDED_FOR).iter();
    let texts: Vec<&str> = lines
        .map(|line| line.to_str().unwrap_or_default())
        .collect();
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

/// What a rate of addresses is counted by: the address, or the /64 network of an IPv6 one.
#[must_use]
pub fn counted_by(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(v6 & SUBSCRIBER_MASK),
        v4 @ IpAddr::V4(_) => v4,
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
        assert_eq!(
            client,
            expected.parse::<IpAddr>().unwrap(),
            "{peer} {forwarded:?}"
        );
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
    fn what_the_client_says_of_itself_is_not_believed() {
        check("10.0.0.1", &["1.2.3.4, 203.0.113.1"], "203.0.113.1");
        check("10.0.0.1", &["1.2.3.4", "203.0.113.1"], "203.0.113.1");
        check(
            "10.0.0.1",
            &["1.2.3.4, 203.0.113.1, 10.0.0.2"],
            "203.0.113.1",
        );
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
    fn an_ipv6_network_is_counted_as_one() {
        for (client, expected) in [
            ("203.0.113.1", "203.0.113.1"),
            ("::ffff:203.0.113.1", "203.0.113.1"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ] {
            let counted = counted_by(client.parse().unwrap());
            assert_eq!(counted, expected.parse::<IpAddr>().unwrap());
        }
    }
}
