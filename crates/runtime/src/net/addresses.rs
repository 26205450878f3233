//! The number of connections of each client address, with a limit.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ipnet::IpNet;

/// The /64 network of an IPv6 subscriber, who can use all its addresses.
const SUBSCRIBER_MASK: Ipv6Addr = Ipv6Addr::new(0xffff, 0xffff, 0xffff, 0xffff, 0, 0, 0, 0);

/// The key for limits per address: the IPv4 address, or the /64 network of an IPv6 address.
#[must_use]
pub fn address_key(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(v6 & SUBSCRIBER_MASK),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// The networks of trusted proxies. Their connections have no limit per address.
#[derive(Debug, Clone, Default)]
pub(crate) struct Proxies {
    pub(crate) networks: Vec<IpNet>,
}

impl Proxies {
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks.iter().any(|network| network.contains(&address))
    }
}

#[derive(Debug)]
pub(super) struct Addresses {
    per_address_max: usize,
    proxies: Proxies,
    counts: Mutex<HashMap<IpAddr, usize>>,
}

/// One counted connection of an address; dropping it decrements the count.
#[derive(Debug)]
pub(super) struct AddressSlot {
    addresses: Arc<Addresses>,
    key: IpAddr,
}

impl Addresses {
    pub(super) fn new(per_address_max: usize, proxies: Proxies) -> Arc<Self> {
        Arc::new(Self { per_address_max, proxies, counts: Mutex::default() })
    }

    fn max_for(&self, address: IpAddr) -> usize {
        if self.proxies.contains(address) { usize::MAX } else { self.per_address_max }
    }

    /// Counts a connection; `None` if its address is at its limit.
    pub(super) fn count(self: &Arc<Self>, address: IpAddr) -> Option<AddressSlot> {
        let max = self.max_for(address);
        let key = address_key(address);
        let mut counts = self.counts();
        let count = counts.entry(key).or_default();
        if *count >= max {
            return None;
        }
        *count += 1;
        Some(AddressSlot { addresses: Arc::clone(self), key })
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for AddressSlot {
    fn drop(&mut self) {
        let mut counts = self.addresses.counts();
        if let Some(count) = counts.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_network_is_counted_as_one() {
        for (client, expected) in [
            ("203.0.113.1", "203.0.113.1"),
            ("::ffff:203.0.113.1", "203.0.113.1"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ] {
            let key = address_key(client.parse().unwrap());
            assert_eq!(key, expected.parse::<IpAddr>().unwrap());
        }
    }

    #[test]
    fn an_address_has_a_limit_and_a_proxy_has_none() {
        let addresses = Addresses::new(2, Proxies { networks: vec!["10.0.0.0/8".parse().unwrap()] });
        let check = |address: &str, max: usize| {
            let count = || addresses.count(address.parse().unwrap());
            let held: Vec<_> = (0..max).map(|_| count().unwrap()).collect();
            assert!(count().is_none(), "{address} beyond {max}");
            drop(held);
            assert!(count().is_some(), "{address} again");
        };
        check("198.51.100.7", 2);
        check("2001:db8:1:2::1", 2);
        let count = |address: &str| addresses.count(address.parse().unwrap());
        let _proxied: Vec<_> =
            (0..100).flat_map(|_| ["10.0.0.1", "::ffff:10.0.0.1"]).map(|a| count(a).unwrap()).collect();
        let _held = (count("2001:db8:1:2::1"), count("2001:db8:1:2::2"));
        assert!(count("2001:db8:1:2::3").is_none());
        assert!(count("2001:db8:1:3::3").is_some());
    }
}
