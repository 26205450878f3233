//! Configuration of shards.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use domain::TenantId;
use serde::{Deserialize, Serialize};

use crate::database_url::url_problem;

/// Maximum number of shards.
pub const SHARDS_MAX: usize = 16;
/// Maximum length of the name of a shard, in bytes.
pub const SHARD_NAME_BYTES_MAX: usize = 32;
/// Maximum number of tenants of all shards.
pub const SHARD_TENANTS_MAX: usize = 10_000;

/// A further database, and the tenants whose rows it has. Its connections and timeouts are bounded as those of the first database.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardConfig {
    /// The name in errors, logs and the projector's setting `shard`: 1 to 32 of `a-z 0-9 -`.
    pub name: String,
    /// The URL of the database, as `database_url`.
    pub database_url: String,
    /// The ids of its tenants. A tenant is assigned before its first commit, and stays.
    pub tenants: Vec<String>,
    /// URLs of streaming replicas of that database, at most 16, as those of the first database: gateways read from them.
    #[serde(default)]
    pub replica_urls: Vec<String>,
}

impl fmt::Debug for ShardConfig {
    /// Omits the URL, which may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardConfig").field("name", &self.name).field("tenants", &self.tenants).finish_non_exhaustive()
    }
}

/// The problems of the shards beside the first database, each with its rule.
pub(super) fn errors(first_url: &str, shards: &[ShardConfig]) -> Vec<String> {
    let count = shards.len();
    if count > SHARDS_MAX {
        return vec![format!("has {count} shards, but at most {SHARDS_MAX} are used: remove some")];
    }
    let tenants: usize = shards.iter().map(|shard| shard.tenants.len()).sum();
    if tenants > SHARD_TENANTS_MAX {
        return vec![format!("lists {tenants} tenants, but at most {SHARD_TENANTS_MAX} are assigned: remove some")];
    }
    let mut errors = Vec::new();
    let (mut names, mut urls) = (BTreeSet::new(), BTreeSet::from([first_url]));
    let mut assigned: BTreeMap<&str, &str> = BTreeMap::new();
    for (number, shard) in (1..).zip(shards) {
        let name = &shard.name;
        if !is_name(name) {
            errors
                .push(format!("has an invalid name in shard {number}: give 1 to {SHARD_NAME_BYTES_MAX} of a-z 0-9 -"));
            continue;
        }
        if !names.insert(name) {
            errors.push(format!("has several shards {name}: give each its own name"));
        }
        if let Some(problem) = url_problem(&shard.database_url) {
            errors.push(format!("has a database_url in shard {name} that {problem}"));
        } else if !urls.insert(&shard.database_url) {
            errors.push(format!("has the database of shard {name} twice: give each shard its own, and not the first"));
        }
        if shard.tenants.is_empty() {
            errors.push(format!("has no tenants in shard {name}: list them, or remove the shard"));
        }
        for tenant in &shard.tenants {
            if TenantId::parse(tenant.as_str()).is_err() {
                errors.push(format!("has an invalid id of a tenant in shard {name}"));
            } else if let Some(other) = assigned.insert(tenant, name) {
                errors.push(format!("lists tenant {tenant} in shards {other} and {name}: list it once"));
            }
        }
    }
    errors
}

fn is_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=SHARD_NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(name: &str, tenants: &[&str]) -> ShardConfig {
        ShardConfig {
            name: name.to_owned(),
            database_url: format!("postgres://u:hunter2@{name}/d"),
            tenants: tenants.iter().map(|tenant| (*tenant).to_owned()).collect(),
            replica_urls: Vec::new(),
        }
    }

    #[track_caller]
    fn check(shards: &[ShardConfig], expected: &[&str]) {
        assert_eq!(errors("postgres://u:hunter2@first/d", shards), expected);
        assert!(!format!("{shards:?}").contains("hunter2"));
    }

    #[test]
    fn each_tenant_and_database_is_listed_once() {
        check(&[], &[]);
        check(&[shard("b", &["acme"]), shard("c", &["other"])], &[]);
        check(
            &[shard("b", &["acme"]), shard("c", &["other", "acme"])],
            &["lists tenant acme in shards b and c: list it once"],
        );
        check(&[shard("b", &["acme", "acme"])], &["lists tenant acme in shards b and b: list it once"]);
        check(&[shard("b", &["a tenant"])], &["has an invalid id of a tenant in shard b"]);
        check(&[shard("b", &[])], &["has no tenants in shard b: list them, or remove the shard"]);
        let twice = "has the database of shard first twice: give each shard its own, and not the first";
        check(&[shard("first", &["acme"])], &[twice]);
        let same = [
            "has several shards b: give each its own name",
            "has the database of shard b twice: give each shard its own, and not the first",
        ];
        check(&[shard("b", &["acme"]), shard("b", &["other"])], &same);
        let no_url = ShardConfig { database_url: String::new(), ..shard("b", &["acme"]) };
        check(&[no_url], &["has a database_url in shard b that is empty: give postgres://user@host:port/database"]);
    }

    #[test]
    fn the_bounds_are_checked_at_their_edges() {
        let many: Vec<ShardConfig> =
            (0..=SHARDS_MAX).map(|number| shard(&format!("s{number}"), &[&format!("t{number}")])).collect();
        check(&many, &["has 17 shards, but at most 16 are used: remove some"]);
        check(many.get(1..).unwrap_or_default(), &[]);
        let tenants: Vec<String> = (0..=SHARD_TENANTS_MAX).map(|n| format!("t{n}")).collect();
        let mut tenants: Vec<&str> = tenants.iter().map(String::as_str).collect();
        let rule = "lists 10001 tenants, but at most 10000 are assigned: remove some";
        check(&[shard("b", &tenants)], &[rule]);
        tenants.pop();
        check(&[shard("b", &tenants)], &[]);
        let invalid = "has an invalid name in shard 1: give 1 to 32 of a-z 0-9 -";
        for (name, is_valid) in [
            ("", false),
            ("a", true),
            ("B", false),
            ("a b", false),
            ("eu-1", true),
            (&"a".repeat(32), true),
            (&"a".repeat(33), false),
        ] {
            let expected = (!is_valid).then_some(invalid);
            check(&[shard(name, &["acme"])], expected.as_slice());
        }
    }
}
