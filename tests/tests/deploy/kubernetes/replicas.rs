//! How many replicas there are, where they run, and how many are missing at most.

use serde_json::Value;

use super::{ROLES, at, files, items, name, of_kind, text_at, workloads};
use crate::metrics::promql::selectors;

/// Connections of a role whose settings name no number.
const CONNECTIONS_DEFAULT: u64 = 10;

/// The object that scales a role.
fn scaled(role: &str) -> Value {
    let mut found = of_kind("ScaledObject").into_iter().filter(|one| at(one, "/spec/scaleTargetRef/name") == role);
    found.next().unwrap_or_else(|| panic!("{role} is not scaled"))
}

fn number_at(object: &Value, pointer: &str) -> u64 {
    let number = at(object, pointer).as_u64();
    number.unwrap_or_else(|| panic!("a number at {pointer}"))
}

/// A number in a file of settings, as `key = 8`.
fn setting(file: &str, key: &str) -> Option<u64> {
    let text = files::text(file);
    let mut values = text.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
    values.next()?.split(' ').next()?.parse().ok()
}

#[test]
fn disruption_budgets_keep_enough_replicas() {
    let budgets = of_kind("PodDisruptionBudget");
    for workload in workloads() {
        let own = at(&workload, "/spec/selector");
        let budget = budgets
            .iter()
            .find(|one| at(one, "/spec/selector") == own)
            .unwrap_or_else(|| panic!("a budget of {}", name(&workload)));
        let replicas = match workload.pointer("/spec/replicas").and_then(Value::as_u64) {
            Some(replicas) => replicas,
            None => number_at(&scaled(name(&workload)), "/spec/minReplicaCount"),
        };
        let least = match budget.pointer("/spec/minAvailable").and_then(Value::as_u64) {
            Some(least) => least,
            None => replicas - number_at(budget, "/spec/maxUnavailable"),
        };
        assert!((1..replicas).contains(&least), "{}", name(&workload));
    }
}

/// Over zones and over nodes.
#[test]
fn replicas_are_spread() {
    for workload in workloads() {
        let own = at(&workload, "/spec/selector/matchLabels");
        let pod = at(&workload, "/spec/template/spec");
        let spread = items(pod, "/topologySpreadConstraints").iter();
        let exclusive = "/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution";
        let rules: Vec<&Value> = spread.chain(items(pod, exclusive)).collect();
        for key in ["topology.kubernetes.io/zone", "kubernetes.io/hostname"] {
            let rule = rules
                .iter()
                .find(|one| text_at(one, "/topologyKey") == key)
                .unwrap_or_else(|| panic!("{} over {key}", name(&workload)));
            assert_eq!(at(rule, "/labelSelector/matchLabels"), own);
        }
    }
}

#[test]
fn roles_are_scaled_by_documented_metrics() {
    let documented = files::text("../docs/reference/metrics.md");
    let prometheus = files::text("prometheus/prometheus.yml");
    let workloads = workloads();
    for role in ROLES {
        let scaled = scaled(role);
        let workload = workloads.iter().find(|one| name(one) == role);
        let fixed = workload.expect("a workload").pointer("/spec/replicas");
        assert_eq!(fixed, None, "{role}: an update would reset its replicas");
        let query = text_at(&scaled, "/spec/triggers/0/metadata/query");
        let job = format!("job=\"hansard-{role}\"");
        let asked = selectors(query);
        assert!(!asked.is_empty(), "{query}");
        assert_eq!(query.matches(&job).count(), asked.len(), "{query}");
        assert!(prometheus.contains(&format!("job_name: hansard-{role}\n")));
        for selector in asked {
            let metric = format!("`{}", selector.metric);
            let mut named = documented.match_indices(&metric);
            let is_whole = |(at, _): (usize, &str)| documented[at + metric.len()..].starts_with(['`', '{']);
            assert!(named.any(is_whole), "{metric}");
        }
    }
}

/// A partition has one projector.
#[test]
fn there_are_no_more_projectors_than_partitions() {
    let most = number_at(&scaled("projector"), "/spec/maxReplicaCount");
    assert_eq!(Some(most), setting("projector.toml", "partitions"));
}

/// Also during a roll-out, which adds one replica.
#[test]
fn postgres_has_enough_connections() {
    let opened = ROLES.map(|role| {
        let of_one = setting(&format!("{role}.toml"), "connections_max");
        let most = number_at(&scaled(role), "/spec/maxReplicaCount");
        (most + 1) * of_one.unwrap_or(CONNECTIONS_DEFAULT)
    });
    let bound = setting("postgres/postgresql.conf", "max_connections").expect("a bound");
    assert!(opened.iter().sum::<u64>() < bound, "{opened:?} of {bound}");
}

/// A caller keeps its connection: replicas that are added get calls from new ones.
#[test]
fn connections_to_scaled_roles_are_renewed() {
    for workload in workloads() {
        let variables = items(super::container(&workload), "/env").iter();
        let mut ages = variables.filter(|one| text_at(one, "/name") == "HANSARD_GRPC__CONNECTION__AGE_MAX_MS");
        let has_grpc = ["writer", "gateway"].contains(&name(&workload));
        assert_eq!(ages.next().is_some(), has_grpc, "{}", name(&workload));
    }
}
