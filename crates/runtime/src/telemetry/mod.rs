//! Logs and traces: their output, and the propagation of traces between processes.
//!
//! Logs go to standard error. Traces are exported by OTLP if an endpoint is configured. Each crate creates its own
//! spans with `tracing`.

mod config;
mod otlp;
mod propagation;

use std::io::{self, IsTerminal};

use tracing_subscriber::filter::{EnvFilter, ParseError};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

use crate::tls::EndpointError;

pub use config::{LogFormat, TelemetryConfig};
pub use otlp::{FLUSH_MAX, TelemetryGuard};
pub(crate) use propagation::TRACEPARENT;
pub use propagation::{Caller, extract, inject, link_remote, set_remote_parent, traceparent};

/// Telemetry cannot start.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The directives of a filter cannot be parsed.
    #[error("`{key}` is not a filter; write it like `info,projector=debug`")]
    Filter {
        /// The setting.
        key: &'static str,
        /// The error of the parser.
        source: ParseError,
    },
    /// The OTLP endpoint is not a URL, or its files cannot be used.
    #[error("`otlp_endpoint` {0}")]
    Endpoint(#[from] EndpointError),
    /// The exporter cannot be built.
    #[error("traces cannot be exported to `otlp_endpoint`")]
    Exporter(#[from] opentelemetry_otlp::ExporterBuildError),
}

/// Starts logs and, if configured, traces of this process. Needs a tokio runtime.
///
/// Keep the guard until the process ends. If the process already has a subscriber (in a test, or for a second
/// role), the call has no effect and returns a guard without effect.
///
/// # Errors
/// A filter or the endpoint cannot be used.
pub fn init(config: &TelemetryConfig) -> Result<TelemetryGuard, TelemetryError> {
    let log_filter = filter("log_filter", &config.log_filter)?;
    let otlp_filter = filter("otlp_filter", OTLP_FILTER)?;
    if tracing::dispatcher::has_been_set() {
        return Ok(TelemetryGuard(None));
    }
    let provider = otlp::provider(config)?;
    let traces = provider.as_ref().map(|provider| otlp::layer(provider).with_filter(otlp_filter));
    let logs = logs(config.log_format).with_filter(log_filter);
    let installed = tracing_subscriber::registry().with(traces).with(logs).try_init();
    // Another thread may have been first.
    Ok(TelemetryGuard(provider.filter(|_| installed.is_ok())))
}

/// Which spans are traced. The transport of the exporter must not be: each export would cause another one.
const OTLP_FILTER: &str = "info,runtime=debug,h2=off,hyper=off,tonic=off,tower=off,opentelemetry=off";

/// What `rmcp` logs at other levels contains whole messages.
const RMCP_ERRORS: &str = "rmcp=error";

fn filter(key: &'static str, directives: &str) -> Result<EnvFilter, TelemetryError> {
    let invalid = |source| TelemetryError::Filter { key, source };
    let filter = EnvFilter::try_new(directives).map_err(invalid)?;
    Ok(filter.add_directive(RMCP_ERRORS.parse().map_err(invalid)?))
}

fn logs<S>(format: LogFormat) -> Box<dyn Layer<S> + Send + Sync>
where
    S: tracing::Subscriber + for<'a> LookupSpan<'a>,
{
    let layer = fmt::layer().with_writer(io::stderr);
    match format {
        LogFormat::Pretty => layer.with_ansi(io::stderr().is_terminal()).boxed(),
        LogFormat::Json => layer.json().flatten_event(true).with_current_span(false).boxed(),
    }
}
