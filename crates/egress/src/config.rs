//! The deployment's egress settings. Writers use them to check URLs that tenants set; gateways use them for calls.

use std::collections::{BTreeMap, BTreeSet};

use domain::{ModelServerId, TenantId};
use serde::{Deserialize, Serialize};

use crate::destination::Destination;

/// Maximum number of entries in `allow`, and in `allow_http`.
pub const DESTINATIONS_MAX: usize = 256;
/// Maximum number of model servers with a list of tenants.
pub const MODEL_SERVERS_MAX: usize = 64;
/// Maximum number of tenants of one model server.
pub const MODEL_TENANTS_MAX: usize = 1_000;

/// Limits which servers the gateway may call for tenants: by URL, and by the name of a model server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EgressConfig {
    /// Networks and hosts that may be called in addition to the public internet, such as `10.0.0.0/8`, `hooks.internal`.
    pub allow: Vec<Destination>,
    /// Networks and hosts that may be called over plain `http://`. Addresses that are not public must also be in `allow`.
    pub allow_http: Vec<Destination>,
    /// Model servers that only some tenants may use, each with its tenants. Every tenant may use all other servers.
    pub model_tenants: BTreeMap<String, BTreeSet<String>>,
}

impl EgressConfig {
    /// Settings for one machine: loopback addresses may be called, also over `http://`.
    #[must_use]
    pub fn loopback() -> Self {
        let loopback: Vec<Destination> =
            ["127.0.0.0/8", "::1"].into_iter().filter_map(|network| network.parse().ok()).collect();
        Self { allow: loopback.clone(), allow_http: loopback, model_tenants: BTreeMap::new() }
    }

    /// Whether a tenant may use a model server.
    #[must_use]
    pub fn may_use_model_server(&self, tenant: &TenantId, server: &str) -> bool {
        let tenants = self.model_tenants.get(server);
        tenants.is_none_or(|tenants| tenants.contains(tenant.as_str()))
    }

    /// Validates the settings. Each error is a key, and the rule that its value breaks with the remedy.
    #[must_use]
    pub fn errors(&self) -> Vec<(String, String)> {
        let bound = |key: &str, entries: usize, max: usize| {
            let rule = format!("has {entries} entries, at most {max} are taken");
            (entries > max).then(|| (key.to_owned(), rule))
        };
        let mut errors = Vec::new();
        errors.extend(bound("allow", self.allow.len(), DESTINATIONS_MAX));
        errors.extend(bound("allow_http", self.allow_http.len(), DESTINATIONS_MAX));
        let servers = self.model_tenants.len();
        errors.extend(bound("model_tenants", servers, MODEL_SERVERS_MAX));
        for (server, tenants) in &self.model_tenants {
            let key = format!("model_tenants.{server}");
            errors.extend(bound(&key, tenants.len(), MODEL_TENANTS_MAX));
            if ModelServerId::parse(server.as_str()).is_err() {
                errors.push((key.clone(), "is not the name of a model server".to_owned()));
            }
            let wrong = |tenant: &&String| TenantId::parse(tenant.as_str()).is_err();
            if let Some(tenant) = tenants.iter().find(wrong) {
                errors.push((key, format!("contains `{tenant}`, which is not a tenant id")));
            }
        }
        errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expected: &[&str]) {
        let config: EgressConfig = serde_json::from_str(json).unwrap();
        let keys = config.errors().into_iter().map(|(key, _)| key);
        assert_eq!(keys.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn settings_are_read_and_checked() {
        check("{}", &[]);
        check(r#"{"allow": ["10.0.0.0/8", "hooks.internal"], "model_tenants": {"own": ["acme"]}}"#, &[]);
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
            assert_eq!(config.errors().len(), expected);
        };
        check(DESTINATIONS_MAX, 0);
        check(DESTINATIONS_MAX + 1, 2);
        let check = |servers: usize, tenants: usize, expected: usize| {
            let tenants: BTreeSet<String> = (0..tenants).map(|n| format!("t{n}")).collect();
            let server = |n| (format!("s{n}"), tenants.clone());
            let config = EgressConfig { model_tenants: (0..servers).map(server).collect(), ..EgressConfig::default() };
            assert_eq!(config.errors().len(), expected);
        };
        check(1, MODEL_TENANTS_MAX, 0);
        check(1, MODEL_TENANTS_MAX + 1, 1);
        check(MODEL_SERVERS_MAX, 0, 0);
        check(MODEL_SERVERS_MAX + 1, 0, 1);
    }

    #[test]
    fn every_tenant_may_use_model_servers_that_are_not_listed() {
        let json = r#"{"model_tenants": {"own": ["acme"], "closed": []}}"#;
        let config: EgressConfig = serde_json::from_str(json).unwrap();
        let check = |tenant: &str, server: &str, expected: bool| {
            let tenant = TenantId::parse(tenant).unwrap();
            let may_use = config.may_use_model_server(&tenant, server);
            assert_eq!(may_use, expected, "{tenant} {server}");
        };
        check("acme", "own", true);
        check("globex", "own", false);
        check("globex", "openai", true);
        check("acme", "closed", false);
    }
}
