//! Where pods may connect to.

use std::net::Ipv4Addr;

use ipnet::IpNet;
use serde_json::Value;

use super::{apps, items, name, of_kind, text_at};

/// The range for documentation: a placeholder that reaches nothing.
const PLACEHOLDER: &str = "192.0.2.0/24";
/// Private addresses, and those of a cloud's metadata.
const INTERNAL: [&str; 8] = [
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.254",
    "192.168.255.254",
    "fd00:ec2::254",
];

fn network(text: &str) -> IpNet {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The egress rules, with the name of their policy.
fn rules() -> Vec<(String, Value)> {
    let policies = of_kind("NetworkPolicy");
    let rules = |policy: &Value| {
        let name = name(policy).to_owned();
        items(policy, "/spec/egress").iter().map(move |rule| (name.clone(), rule.clone())).collect::<Vec<_>>()
    };
    policies.iter().flat_map(rules).collect()
}

/// The blocks of addresses of a rule.
fn blocks(rule: &Value) -> Vec<&Value> {
    items(rule, "/to").iter().filter_map(|peer| peer.get("ipBlock")).collect()
}

/// Whether a block contains an address.
fn contains(block: &Value, address: &str) -> bool {
    let network_of =
        |address: &str| network(&format!("{address}{}", if address.contains(':') { "/128" } else { "/32" }));
    let address = network_of(address);
    let excepted = items(block, "/except").iter().map(|one| network(one.as_str().expect("a network")));
    network(text_at(block, "/cidr")).contains(&address) && !excepted.into_iter().any(|one| one.contains(&address))
}

#[test]
fn every_egress_rule_names_destinations_and_ports() {
    let rules = rules();
    assert!(rules.len() > 8, "{rules:?}");
    for (policy, rule) in &rules {
        assert!(!items(rule, "/to").is_empty(), "{policy} reaches every address: {rule}");
        assert!(!items(rule, "/ports").is_empty(), "{policy} reaches every port: {rule}");
        for peer in items(rule, "/to") {
            assert_ne!(peer, &serde_json::json!({"namespaceSelector": {}}), "{policy}");
        }
    }
}

/// Only gateways reach public servers, and no rule reaches a private network before an operator names it.
#[test]
fn only_gateways_reach_public_servers() {
    let public = Ipv4Addr::new(203, 0, 114, 1).to_string();
    for (policy, rule) in rules() {
        for block in blocks(&rule) {
            let cidr = text_at(block, "/cidr");
            let is_public = contains(block, &public);
            assert_eq!(is_public, policy == "public-servers" && !cidr.contains(':'), "{policy}: {cidr}");
            for address in INTERNAL {
                assert!(!contains(block, address), "{policy} reaches {address}");
            }
            let is_placeholder = network(PLACEHOLDER).contains(&network(cidr));
            assert_eq!(is_placeholder, ["postgres", "archive"].contains(&policy.as_str()), "{policy}: {cidr}");
        }
    }
    let policies = of_kind("NetworkPolicy");
    let public = policies.iter().find(|one| name(one) == "public-servers").expect("a policy");
    assert_eq!(text_at(public, "/spec/podSelector/matchLabels/app"), "gateway");
    assert!(apps().contains("gateway"));
}
