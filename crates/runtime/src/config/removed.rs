//! Former settings: keys that are refused, each with the value that now always applies.

use figment::value::Value;

use super::error::ErrorKind;
use super::leaf::Leaf;

/// Matches any one name in a key, such as that of a model server.
const ANY: &str = "*";

/// The former settings, each with its fixed value.
const REMOVED: &[(&str, &str)] = &[
    ("batch_rows", "8000"),
    ("batch_wait_ms", "20"),
    ("generation.followers_max", "4000"),
    ("generation.keep_alive_ms", "a third of generation.abandoned_after_ms, at most 5000"),
    ("generation.run_wait_ms", "2000"),
    ("generation.runs_waiting_max", "200"),
    ("generation.summaries_max", "4"),
    ("generation.sweep_every_ms", "a third of generation.abandoned_after_ms"),
    ("grpc.body_progress_bytes_min", "1024"),
    ("grpc.body_progress_timeout_ms", "5000"),
    ("grpc.connection.age_grace_ms", "600000"),
    ("grpc.connection.idle_timeout_ms", "600000"),
    ("grpc.connection.preempt_after_ms", "250"),
    ("grpc.connection.saturated_after_ms", "2000"),
    ("grpc.connection.tcp_keepalive_ms", "30000"),
    ("grpc.connection.tcp_user_timeout_ms", "30000"),
    ("grpc.connection.write_timeout_ms", "30000"),
    ("grpc.connection_streams_max", "1024"),
    ("grpc.keepalive_interval_ms", "20000"),
    ("grpc.keepalive_timeout_ms", "10000"),
    ("grpc.message_bytes_max", "33554432 for the writer and 4194304 for the gateway"),
    ("grpc.retry_after_ms", "100"),
    ("grpc.unary_timeout_ms", "10000"),
    ("http.live.heartbeat_ms", "15000"),
    ("http.live.pause_max_ms", "10000"),
    ("http.server.body_progress_bytes_min", "1024"),
    ("http.server.body_progress_timeout_ms", "3000"),
    ("http.server.connection.age_grace_ms", "300000"),
    ("http.server.connection.idle_timeout_ms", "75000"),
    ("http.server.connection.preempt_after_ms", "250"),
    ("http.server.connection.saturated_after_ms", "2000"),
    ("http.server.connection.tcp_keepalive_ms", "30000"),
    ("http.server.connection.tcp_user_timeout_ms", "30000"),
    ("http.server.connection.write_timeout_ms", "20000"),
    ("http.server.connections_per_proxy_max", "the value of http.server.connections_max"),
    ("http.server.header_bytes_max", "32768"),
    ("http.server.retry_after_ms", "1000"),
    ("models.*.breaker.failures_max", "5"),
    ("models.*.breaker.open_ms", "10000"),
    ("models.*.connect_timeout_ms", "2000"),
    ("models.*.total_timeout_ms", "1800000, the maximum of generation.run_timeout_ms"),
    ("models.*.wait_timeout_ms", "10000"),
    ("models.*.waiting_max", "256"),
    ("read_model.acquire_timeout_ms", "2000"),
    ("read_model.replica_connections_max", "the value of read_model.connections_max"),
    ("record.client_name", "hansard"),
    ("retention.changes_at_once", "8"),
    ("retention.changes_max", "1000"),
    ("retention.changes_per_second", "50"),
    ("stream_commands_max", "256"),
    ("telemetry.otlp_filter", "info,runtime=debug,h2=off,hyper=off,tonic=off,tower=off,opentelemetry=off"),
    ("telemetry.service_name", "hansard-ROLE"),
    ("watch_idle_check_ms", "5000"),
];

/// The errors of all former settings in a setting, each with its key. A key that `defaults` has is no former setting.
pub(super) fn errors(leaf: &Leaf, defaults: &Value) -> Vec<(String, ErrorKind)> {
    let mut paths = vec![leaf.path.clone()];
    for value in &leaf.candidates {
        add_paths(&leaf.path, value, &mut paths);
    }
    let fixed = paths.iter().filter(|path| !has(defaults, path)).filter_map(|path| {
        let value = value_of(path)?;
        Some((path.join("."), ErrorKind::Removed(value)))
    });
    fixed.collect()
}

/// Adds the paths of the settings of a section at `path`.
fn add_paths(path: &[String], value: &Value, paths: &mut Vec<Vec<String>>) {
    let Value::Dict(_, dict) = value else { return };
    for (name, value) in dict {
        let path = [path, std::slice::from_ref(name)].concat();
        add_paths(&path, value, paths);
        paths.push(path);
    }
}

fn has(defaults: &Value, path: &[String]) -> bool {
    let mut here = Some(defaults);
    for name in path {
        here = here.and_then(Value::as_dict).and_then(|dict| dict.get(name));
    }
    here.is_some()
}

fn value_of(path: &[String]) -> Option<&'static str> {
    let is_at = |key: &str| {
        key.split('.').count() == path.len() && key.split('.').zip(path).all(|(of, name)| of == ANY || of == name)
    };
    REMOVED.iter().find(|(key, _)| is_at(key)).map(|(_, value)| *value)
}
