//! The settings of logs and traces.

use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;

use crate::config::{Bounds, Checks, Validate};
use crate::tls;

const SAMPLE_RATIO: Bounds<f64> = Bounds::new(0.0..=1.0, "of the traces");

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people: one coloured line per event.
    #[default]
    Pretty,
    /// For machines: one JSON object per event.
    Json,
}

/// The settings of logs and traces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TelemetryConfig {
    /// The name of this process in traces. It is no setting: [`super::init`] gets it from the program.
    #[serde(skip)]
    pub service_name: String,
    /// The format of log lines: `pretty` or `json`. Use `json` where a program reads them.
    pub log_format: LogFormat,
    /// Which events are logged, as directives of `tracing_subscriber::EnvFilter`. Use `debug` to find a cause.
    /// What libraries log at the level `trace` contains messages: it is never logged.
    pub log_filter: String,
    /// The OTLP/gRPC endpoint for traces: `http://host:port`, or `https://host:port?ca=FILE` for TLS. Without it, no traces
    /// are exported.
    pub otlp_endpoint: Option<String>,
    /// The share of exported traces among those that start here. For other traces, the caller has decided. Lower it if the
    /// traces are too many.
    pub otlp_sample_ratio: f64,
}

impl Default for TelemetryConfig {
    fn default() -> Self {
        Self {
            service_name: "hansard".to_owned(),
            log_format: LogFormat::Pretty,
            log_filter: "info".to_owned(),
            otlp_endpoint: None,
            otlp_sample_ratio: 1.0,
        }
    }
}

impl Validate for TelemetryConfig {
    fn validate(&self, checks: &mut Checks<'_>) {
        if let Err(error) = EnvFilter::try_new(&self.log_filter) {
            let message = format!("is not a filter: {error}; write it like `info,projector=debug`");
            checks.invalid("log_filter", message);
        }
        if let Some(Err(error)) = self.otlp_endpoint.as_deref().map(tls::endpoint) {
            checks.invalid("otlp_endpoint", error.to_string());
        }
        checks.bounds("otlp_sample_ratio", self.otlp_sample_ratio, &SAMPLE_RATIO);
    }
}
