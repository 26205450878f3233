//! The metrics of the process: one recorder, rendered in the text format of Prometheus.
//!
//! Names end in their unit. Histograms in `_seconds` have latency buckets; all others have count buckets.

use std::fs;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use metrics::{describe_gauge, gauge};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

/// Upper bounds of latency buckets, in seconds: 50 µs to 10 s.
pub const LATENCY_BUCKETS: [f64; 17] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.125, 0.25, 0.5, 1.0, 2.5,
    10.0,
];

/// Upper bounds of count buckets (rows, bytes, attempts): 1 to 16 million.
pub const COUNT_BUCKETS: [f64; 15] =
    [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 250.0, 500.0, 1e3, 1e4, 1e5, 1e6, 4e6, 1.6e7];

/// Interval at which recorded samples move into their buckets; until then they use 8 bytes each.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

const RESIDENT: &str = "process_resident_memory_bytes";
const BUILD: &str = "hansard_build_info";
const ROLE: &str = "hansard_role_info";

/// The metrics cannot be recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetricsError {
    /// Other code in this process installed a recorder first.
    #[error("another metrics recorder is installed in this process")]
    RecorderTaken,
    /// The buckets are invalid, or the upkeep thread cannot start.
    #[error("metrics recorder cannot start: {0}")]
    Unavailable(String),
}

/// Renders the metrics of the process; clones share one recorder.
#[derive(Debug, Clone)]
pub struct Metrics(PrometheusHandle);

/// Installs the recorder of this process. Later calls return the same recorder.
///
/// Call it first: metric handles that were created before it record nothing.
///
/// # Errors
/// The error of the first call, also from every later call.
pub fn install() -> Result<Metrics, MetricsError> {
    static INSTALLED: OnceLock<Result<Metrics, MetricsError>> = OnceLock::new();
    INSTALLED.get_or_init(install_recorder).clone()
}

impl Metrics {
    /// Sets `hansard_role_info` for a role of this process. Alerts use it to detect that no process has a role.
    pub fn set_role(&self, role: &'static str) {
        gauge!(ROLE, "role" => role).set(1.0);
    }

    /// All metrics in the text format of Prometheus, version 0.0.4.
    #[must_use]
    pub fn render(&self) -> String {
        if let Some(bytes) = resident_bytes() {
            gauge!(RESIDENT).set(bytes);
        }
        self.0.render()
    }
}

fn install_recorder() -> Result<Metrics, MetricsError> {
    let unavailable = |e: BuildError| MetricsError::Unavailable(e.to_string());
    let handle = PrometheusBuilder::new()
        .set_buckets(&COUNT_BUCKETS)
        .and_then(|builder| {
            let seconds = Matcher::Suffix("_seconds".to_owned());
            builder.set_buckets_for_metric(seconds, &LATENCY_BUCKETS)
        })
        .map_err(unavailable)?
        .install_recorder()
        .map_err(|_| MetricsError::RecorderTaken)?;
    let upkeep = handle.clone();
    thread::Builder::new()
        .name("metrics-upkeep".to_owned())
        .spawn(move || {
            loop {
                thread::sleep(UPKEEP_INTERVAL);
                upkeep.run_upkeep();
            }
        })
        .map_err(|e| MetricsError::Unavailable(e.to_string()))?;
    describe_gauge!(RESIDENT, "Physical memory of the process, in bytes");
    describe_gauge!(BUILD, "Always 1; the label `version` is the running version");
    describe_gauge!(ROLE, "Always 1; the label `role` is the role of this process");
    gauge!(BUILD, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    Ok(Metrics(handle))
}

/// The resident memory as Linux reports it; `None` on other systems.
fn resident_bytes() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u32 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    Some(f64::from(kibibytes) * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renders_buckets_by_name_and_metrics_of_the_process() {
        let metrics = install().unwrap();
        install().unwrap().set_role("writer");
        ::metrics::histogram!("test_latency_seconds").record(0.000_06);
        ::metrics::histogram!("test_batch_rows").record(500.0);
        let text = metrics.render();
        for line in [
            "test_latency_seconds_bucket{le=\"0.00005\"} 0",
            "test_latency_seconds_bucket{le=\"0.0001\"} 1",
            "test_latency_seconds_bucket{le=\"10\"} 1",
            "test_batch_rows_bucket{le=\"250\"} 0",
            "test_batch_rows_bucket{le=\"500\"} 1",
            concat!("hansard_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1"),
            "hansard_role_info{role=\"writer\"} 1",
        ] {
            assert!(text.lines().any(|l| l == line), "no {line} in\n{text}");
        }
        let resident = resident_bytes().unwrap();
        assert!((1e6..1e11).contains(&resident), "{resident}");
    }
}
