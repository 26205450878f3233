//! Configuration of a process that also reads from replicas of Postgres.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::server_name;
use crate::certificates;
use crate::config::ReadModelConfig;
use crate::error::ReadModelError;

/// Maximum number of replicas.
pub const REPLICAS_MAX: usize = 16;
/// Minimum of the configurable lag of a replica, in milliseconds. It exceeds the interval of two measurements.
pub const REPLICA_LAG_MS_MIN: u64 = 200;
/// Maximum of the configurable lag of a replica, in milliseconds. Commits of the record are archived when they are older.
pub const REPLICA_LAG_MS_MAX: u64 = 60_000;

/// The primary, and the replicas that reads use.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicatedReadModelConfig {
    /// The primary.
    #[serde(flatten)]
    pub primary: ReadModelConfig,
    /// URLs of streaming replicas of that database, at most 16, each as `database_url`. Reads use them in turn while they
    /// answer and do not lag too far behind, and the primary otherwise. Empty: all reads use the primary.
    pub replica_urls: Vec<String>,
    /// Maximum lag of a replica that is read, in milliseconds; 200 to 60000. Raise it if replicas that lag leave the primary too many reads.
    pub replica_lag_ms_max: u64,
}

impl From<ReadModelConfig> for ReplicatedReadModelConfig {
    /// No replicas.
    fn from(primary: ReadModelConfig) -> Self {
        Self { primary, replica_urls: Vec::new(), replica_lag_ms_max: 1_000 }
    }
}

impl Default for ReplicatedReadModelConfig {
    fn default() -> Self {
        ReadModelConfig::default().into()
    }
}

impl ReplicatedReadModelConfig {
    /// The invalid settings: each key with its rule and the remedy.
    #[must_use]
    pub fn errors(&self) -> Vec<(&'static str, String)> {
        let mut errors = self.primary.errors();
        let of_urls = replica_url_errors(&self.primary.database_url, &self.replica_urls);
        errors.extend(of_urls.into_iter().map(|error| ("replica_urls", error)));
        for shard in &self.primary.shards {
            let of_urls = replica_url_errors(&shard.database_url, &shard.replica_urls);
            let error = |error| format!("has a shard {} whose replica_urls {error}", shard.name);
            errors.extend(of_urls.into_iter().map(|problem| ("shards", error(problem))));
        }
        let lag = self.replica_lag_ms_max;
        if !(REPLICA_LAG_MS_MIN..=REPLICA_LAG_MS_MAX).contains(&lag) {
            let problem = format!("is {lag}, but must be {REPLICA_LAG_MS_MIN} to {REPLICA_LAG_MS_MAX} ms");
            errors.push(("replica_lag_ms_max", problem));
        }
        errors
    }
}

impl fmt::Debug for ReplicatedReadModelConfig {
    /// Omits the URLs, which may contain passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplicatedReadModelConfig")
            .field("primary", &self.primary)
            .field("replicas", &self.replica_urls.len())
            .field("replica_lag_ms_max", &self.replica_lag_ms_max)
            .finish()
    }
}

/// The problems of the URLs of replicas of a primary, each with its rule.
fn replica_url_errors(primary_url: &str, replica_urls: &[String]) -> Vec<String> {
    let count = replica_urls.len();
    if count > REPLICAS_MAX {
        return vec![format!("has {count} URLs, but at most {REPLICAS_MAX} replicas are used: remove some")];
    }
    let primary = server_name(primary_url).ok();
    let mut names: BTreeSet<String> = primary.into_iter().collect();
    let mut errors = Vec::new();
    for (number, url) in (1..).zip(replica_urls) {
        match server_name(url) {
            Err(_) => errors.push(format!("is invalid in URL {number}: give postgres://user@host:port/database")),
            Ok(name) if !names.insert(name.clone()) => {
                errors.push(format!("names {name} again in URL {number}: name each server once, and not the primary"));
            }
            Ok(_) => {}
        }
        if let Err(ReadModelError::File { parameter, path, problem }) = certificates::check(url) {
            errors.push(format!("names {path} as {parameter} in URL {number}, which {problem}"));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ShardConfig;

    fn config(urls: &[&str]) -> ReplicatedReadModelConfig {
        ReplicatedReadModelConfig {
            replica_urls: urls.iter().map(|url| (*url).to_owned()).collect(),
            ..ReplicatedReadModelConfig::default()
        }
    }

    #[track_caller]
    fn check(config: &ReplicatedReadModelConfig, expected: &[(&str, &str)]) {
        let found = config.errors();
        let errors: Vec<(&str, &str)> = found.iter().map(|(key, rule)| (*key, &**rule)).collect();
        assert_eq!(errors, expected);
        assert!(!format!("{config:?}").contains("hunter2"));
    }

    #[test]
    fn each_server_is_named_once() {
        check(&config(&[]), &[]);
        check(&config(&["postgres://u:hunter2@a/d", "postgres://u@b/d"]), &[]);
        let again = "names a:5432 again in URL 2: name each server once, and not the primary";
        check(&config(&["postgres://u@a/d", "postgres://v@a:5432/d"]), &[("replica_urls", again)]);
        let primary = "names 127.0.0.1:5432 again in URL 1: name each server once, and not the primary";
        check(&config(&["postgres://u@127.0.0.1/d"]), &[("replica_urls", primary)]);
        let invalid = "is invalid in URL 1: give postgres://user@host:port/database";
        check(&config(&["hunter2"]), &[("replica_urls", invalid)]);
        let file = "names /no/ca.pem as sslrootcert in URL 1, which cannot be read: entity not found";
        check(&config(&["postgres://u@a/d?sslrootcert=/no/ca.pem"]), &[("replica_urls", file)]);
    }

    #[test]
    fn each_replica_of_a_shard_is_named_once() {
        let config = |replicas: &[&str]| {
            let mut config = config(&[]);
            config.primary.shards.push(ShardConfig {
                name: "eu".to_owned(),
                database_url: "postgres://u:hunter2@a/d".to_owned(),
                tenants: vec!["acme".to_owned()],
                replica_urls: replicas.iter().map(|url| (*url).to_owned()).collect(),
            });
            config
        };
        check(&config(&["postgres://u:hunter2@b/d"]), &[]);
        let primary =
            "has a shard eu whose replica_urls names a:5432 again in URL 1: name each server once, and not the primary";
        check(&config(&["postgres://u@a/d"]), &[("shards", primary)]);
    }

    #[test]
    fn the_bounds_are_checked_at_their_edges() {
        let many: Vec<String> = (0..=REPLICAS_MAX).map(|number| format!("postgres://u@replica-{number}/d")).collect();
        let mut many: Vec<&str> = many.iter().map(String::as_str).collect();
        let rule = "has 17 URLs, but at most 16 replicas are used: remove some";
        check(&config(&many), &[("replica_urls", rule)]);
        many.pop();
        check(&config(&many), &[]);
        for (lag, is_valid) in [(199, false), (200, true), (60_000, true), (60_001, false)] {
            let config = ReplicatedReadModelConfig { replica_lag_ms_max: lag, ..config(&[]) };
            assert_eq!(config.errors().is_empty(), is_valid, "{lag}");
        }
        for (connections, is_valid) in [(0, false), (1, true), (1_000, true), (1_001, false)] {
            let mut config = config(&[]);
            config.primary.connections_max = connections;
            assert_eq!(config.errors().is_empty(), is_valid, "{connections}");
        }
    }
}
