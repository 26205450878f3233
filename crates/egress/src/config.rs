//! The deployment's settings; the same for writers, which check URLs when they are set, and gateways, which call them.

use std::collections::{BTreeMap, BTreeSet};

use domain::{ModelServerId, TenantId};
use serde::{Deserialize, Serialize};

use crate::destination::Destination;

/// Most entries of `allow`, and of `allow_http`.
pub const DESTINATIONS_MAX: usize = 256;
/// Most model servers with a list of tenants.
pub const MODEL_SERVERS_MAX: usize = 64;
/// Most tenants of one model server.
pub const MODEL_TENANTS_MAX: usize = 1_000;

/// What URLs and names of servers that tenants set may reach.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EgressConfig {
    /// Networks and hosts beside the public internet that may be called, such as `10.0.0.0/8` and `hooks.internal`.
    pub allow: Vec<Destination>,
    /// Networks and hosts that may be called over plain `http://`. An address that is not public must be in `allow`, too.
    pub allow_http: Vec<Destination>,
    /// Model servers that only some tenants may use, each with these tenants. All others are every tenant's.
    pub model_tenants: BTreeMap<String, BTreeSet<String>>,
}

impl EgressConfig {
    /// Settings of one machine: loopback may be called, over `http://` too.
    #[must_use]
    pub fn loopback() -> Self {
        let loopback: Vec<Destination> = ["127.0.0.0/8", "::1"]
            .into_iter()
            .filter_map(|network| network.parse().ok())
            .collect();
        Self {
            allow: loopback.clone(),
            allow_http: loopback,
            model_tenants: BTreeMap::new(),
        }
    }

    /// Whether a tenant may use a model server.
    #[must_use]
    pub fn may_use_model_server(&self, tenant: &TenantId, server: &str) -> bool {
        let tenants = self.model_tenants.get(server);
        tenants.is_none_or(|tenants| tenants.contains(tenant.as_str()))
    }

    /// What is wrong with the settings: the key, and the rule with its mend.
    #[must_use]
    pub fn mistakes(&self) -> Vec<(String, String)> {
        let bound = |key: &str, entries: usize, max: usize| {
            let rule = format!("has {entries} entries, at most {max} are taken");
            (entries > max).then(|| (key.to_owned(), rule))
        };
        let mut mistakes = Vec::new();
        mistakes.extend(bound("allow", self.allow.len(), DESTINATIONS_MAX));
        mistakes.extend(bound("allow_http", self.allow_http.len(), DESTINATIONS_MAX));
        let servers = self.model_tenants.len();
        mistakes.extend(bound("model_tenants", servers, MODEL_SERVERS_MAX));
        for (server, tenants) in &self.model_tenants {
            let key = format!("model_tenants.{server}");
            mistakes.extend(bound(&key, tenants.len(), MODEL_TENANTS_MAX));
            if ModelServerId::parse(server.as_str()).is_err() {
                mistakes.push((key.clone(), "is no name of a model server".to_owned()));
            }
            let wrong = |tenant: &&String| TenantId::parse(tenant.as_str()).is_err();
            if let Some(tenant) = tenants.iter().find(wrong) {
                mistakes.push((key, format!("names `{tenant}`, which is no tenant's id")));
            }
        }
        mistakes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expected: &[&str]) {
        let config: EgressConfig = serde_json::from_str(json).unwrap();
        let keys = config.mistakes().into_iter().map(|(key, _)| key);
        assert_eq!(keys.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn settings_are_read_and_checked() {
        check("{}", &[]);
        check(
            r#"{"allow": ["10.0.0.0/8", "hooks.internal"], "model_tenants": {"own": ["acme"]}}"#,
            &[],
        );
        check(r#"{"model_tenants": {"a.b": []}}"#, &["model_tenants.a.b"]);
        check(r#"{"model_tenants": {"a": ["b c"]}}"#, &["model_tenants.a"]);
        for wrong in [r#"{"allow": ["http://a"]}"#, r#"{"deny": []}"#] {
            assert!(serde_json::from_str::<EgressConfig>(wrong).is_err());
        }
    }

    #[test]
    fn lists_have_bounds() {
        let entry: Destination = "10.0.0.0/8".parse().unwrap();
        let check = |entries: usize, expected: usize| {
            let config = EgressConfig {
                allow: vec![entry.clone(); entries],
                allow_http: vec![entry.clone(); entries],
                ..EgressConfig::default()
            };
            assert_eq!(config.mistakes().len(), expected);
        };
        check(DESTINATIONS_MAX, 0);
        check(DESTINATIONS_MAX + 1, 2);
        let tenants = |count: usize| {
            let tenants = (0..count).map(|n| format!("t{n}")).collect();
            let config = EgressConfig {
                model_tenants: [("own".to_owned(), tenants)].into(),
                ..EgressConfig::default()
            };
            config.mistakes().len()
        };
        assert_eq!(
            (tenants(MODEL_TENANTS_MAX), tenants(MODEL_TENANTS_MAX + 1)),
            (0, 1)
        );
        let servers = |count: usize| {
            let server = |n| (format!("s{n}"), BTreeSet::new());
            let config = EgressConfig {
                model_tenants: (0..count).map(server).collect(),
                ..EgressConfig::default()
            };
            config.mistakes().len()
        };
        assert_eq!(
            (servers(MODEL_SERVERS_MAX), servers(MODEL_SERVERS_MAX + 1)),
            (0, 1)
        );
    }

    #[test]
    fn model_servers_are_every_tenants_unless_listed() {
        let json = r#"{"model_tenants": {"own": ["acme"], "closed": []}}"#;
        let config: EgressConfig = serde_json::from_str(json).unwrap();
        let check = |tenant: &str, server: &str, expected: bool| {
            let tenant = TenantId::parse(tenant).unwrap();
            let seen = config.may_use_model_server(&tenant, server);
            assert_eq!(seen, expected, "{tenant} {server}");
        };
        check("acme", "own", true);
        check("globex", "own", false);
        check("globex", "openai", true);
        check("acme", "closed", false);
    }
}
