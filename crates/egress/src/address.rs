//! Public addresses according to IANA's registries of special-purpose addresses.
//!
//! Sources: <https://www.iana.org/assignments/iana-ipv4-special-registry>,
//! <https://www.iana.org/assignments/iana-ipv6-special-registry>.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

/// IPv4 networks that are not public.
const SPECIAL_V4: [Ipv4Net; 15] = [
    v4([0, 0, 0, 0], 8),       // this network, unspecified
    v4([10, 0, 0, 0], 8),      // private
    v4([100, 64, 0, 0], 10),   // shared address space of carriers
    v4([127, 0, 0, 0], 8),     // loopback
    v4([169, 254, 0, 0], 16),  // link-local, metadata of clouds
    v4([172, 16, 0, 0], 12),   // private
    v4([192, 0, 0, 0], 24),    // IETF protocol assignments
    v4([192, 0, 2, 0], 24),    // documentation
    v4([192, 88, 99, 0], 24),  // relays of 6to4
    v4([192, 168, 0, 0], 16),  // private
    v4([198, 18, 0, 0], 15),   // benchmarks
    v4([198, 51, 100, 0], 24), // documentation
    v4([203, 0, 113, 0], 24),  // documentation
    v4([224, 0, 0, 0], 4),     // multicast
    v4([240, 0, 0, 0], 4),     // reserved, broadcast
];

/// The only public IPv6 network: global unicast.
const GLOBAL_V6: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Networks within [`GLOBAL_V6`] that are not public.
const SPECIAL_V6: [Ipv6Net; 4] = [
    // IETF protocol assignments: Teredo, ORCHID, benchmarks
    Ipv6Net::new_assert(Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    // documentation
    Ipv6Net::new_assert(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    // 6to4, which embeds an IPv4 address
    Ipv6Net::new_assert(Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    // documentation
    Ipv6Net::new_assert(Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// The well-known prefix of NAT64 (RFC 6052). An IPv4 address follows it.
const NAT64: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// The address that a connection reaches. IPv4-mapped and NAT64 addresses become the embedded IPv4 address.
#[must_use]
pub fn canonical(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else {
        return address;
    };
    if NAT64.contains(&v6) {
        let [.., a, b, c, d] = v6.octets();
        return Ipv4Addr::new(a, b, c, d).into();
    }
    address.to_canonical()
}

/// Whether an address is globally reachable unicast. IPv4-compatible IPv6 addresses are not: they are deprecated.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match canonical(address) {
        IpAddr::V4(v4) => !SPECIAL_V4.iter().any(|network| network.contains(&v4)),
        IpAddr::V6(v6) => GLOBAL_V6.contains(&v6) && !SPECIAL_V6.iter().any(|network| network.contains(&v6)),
    }
}

const fn v4([a, b, c, d]: [u8; 4], prefix_length: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix_length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expected: bool, addresses: &[&str]) {
        for address in addresses {
            let parsed: IpAddr = address.parse().unwrap();
            assert_eq!(is_public(parsed), expected, "{address}");
        }
    }

    #[test]
    fn special_networks_of_ipv4_at_their_edges() {
        check(false, &["0.0.0.0", "0.255.255.255"]);
        check(true, &["1.0.0.0", "9.255.255.255"]);
        check(false, &["10.0.0.0", "10.255.255.255"]);
        check(true, &["11.0.0.0", "100.63.255.255"]);
        check(false, &["100.64.0.0", "100.127.255.255"]);
        check(true, &["100.128.0.0", "126.255.255.255"]);
        check(false, &["127.0.0.0", "127.0.0.1", "127.255.255.255"]);
        check(true, &["128.0.0.0", "169.253.255.255"]);
        check(false, &["169.254.0.0", "169.254.169.254", "169.254.255.255"]);
        check(true, &["169.255.0.0", "172.15.255.255"]);
        check(false, &["172.16.0.0", "172.31.255.255"]);
        check(true, &["172.32.0.0", "191.255.255.255"]);
        check(false, &["192.0.0.0", "192.0.0.255", "192.0.2.0", "192.0.2.255"]);
        check(true, &["192.0.1.0", "192.0.3.0", "192.88.98.255"]);
        check(false, &["192.88.99.0", "192.168.0.0", "192.168.255.255"]);
        check(true, &["192.167.255.255", "192.169.0.0", "198.17.255.255"]);
        check(false, &["198.18.0.0", "198.19.255.255", "198.51.100.7"]);
        check(true, &["198.20.0.0", "198.51.101.0", "203.0.112.255"]);
        check(false, &["203.0.113.1", "224.0.0.0", "239.255.255.255"]);
        check(true, &["203.0.114.0", "223.255.255.255", "8.8.8.8"]);
        check(false, &["240.0.0.0", "255.255.255.255"]);
    }

    #[test]
    fn special_networks_of_ipv6() {
        check(false, &["::", "::1", "100::1", "1fff::1"]);
        check(true, &["2606:4700:4700::1111", "2001:200::1", "2a00::1"]);
        check(false, &["2001::1", "2001:1ff:ffff::1", "2001:db8::1"]);
        check(false, &["2002:a00:1::", "2002:808:808::", "3fff::1"]);
        check(true, &["3fff:1000::1", "3ffe::1"]);
        check(false, &["4000::1", "5f00::1", "fc00::1", "fdff::1"]);
        check(false, &["fe80::1", "fec0::1", "ff02::1", "ff0e::1"]);
    }

    #[test]
    fn embedded_ipv4_addresses() {
        check(false, &["::ffff:10.0.0.1", "::ffff:127.0.0.1", "::ffff:169.254.169.254"]);
        check(true, &["::ffff:8.8.8.8"]);
        check(false, &["::10.0.0.1", "::8.8.8.8"]);
        check(false, &["64:ff9b::10.0.0.1", "64:ff9b::127.0.0.1"]);
        check(true, &["64:ff9b::8.8.8.8"]);
        check(false, &["64:ff9b:1::8.8.8.8", "64:ff9b::1:808:808"]);
    }
}
