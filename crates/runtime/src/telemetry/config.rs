//! The settings of logs and traces.

use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;

use crate::config::{Bounds, Checks, Validate};
use crate::tls;

/// The share of traces begun here that are exported.
const SAMPLE_RATIO: Bounds<f64> = Bounds {
    min: 0.0,
    max: 1.0,
    unit: "of the traces",
};

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people: one coloured line an event.
    #[default]
    Pretty,
    /// For machines: one JSON object an event.
    Json,
}

/// The settings of logs and traces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TelemetryConfig {
    /// The name of this process in traces.
    pub service_name: String,
    /// How a log line looks.
    pub log_format: LogFormat,
    /// What is logged, in the directives of `tracing_subscriber::EnvFilter`.
    pub log_filter: String,
    /// Where traces go by OTLP over gRPC: `http://host:port`, or `https://host:port?ca=FILE` for TLS; nowhere when absent.
    pub otlp_endpoint: Option<String>,
    /// What is traced, in the same directives.
    pub otlp_filter: String,
    /// The share of traces begun here that are exported; a caller's own decision is followed.
    pub otlp_sample_ratio: f64,
}

impl Default for TelemetryConfig {
    fn default() -> Self {
        Self {
            service_name: "hansard".to_owned(),
            log_format: LogFormat::Pretty,
            log_filter: "info".to_owned(),
            otlp_endpoint: None,
            // The exporter's own transport must not be traced: each export would cause another.
            otlp_filter: "info,runtime=debug,h2=off,hyper=off,tonic=off,tower=off,\
                          opentelemetry=off"
                .to_owned(),
            otlp_sample_ratio: 1.0,
        }
    }
}

impl Validate for TelemetryConfig {
    fn validate(&self, checks: &mut Checks<'_>) {
        for (key, directives) in [
            ("log_filter", &self.log_filter),
            ("otlp_filter", &self.otlp_filter),
        ] {
            if let Err(error) = EnvFilter::try_new(directives) {
                let mend = format!("is no filter: {error}; write it like `info,projector=debug`");
                checks.invalid(key, mend);
            }
        }
        if let Some(Err(error)) = self.otlp_endpoint.as_deref().map(tls::endpoint) {
            checks.invalid("otlp_endpoint", error.to_string());
        }
        checks.bounds("otlp_sample_ratio", self.otlp_sample_ratio, &SAMPLE_RATIO);
    }
}
