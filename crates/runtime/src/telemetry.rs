//! Logs and traces: their output, and the propagation of traces between processes.
//!
//! Logs go to standard error. Traces are exported by OTLP if an endpoint is configured. Each crate creates its own
//! spans with `tracing`.

mod config;
mod otlp;
mod propagation;

use std::io::{self, IsTerminal};

use tracing::{Level, Metadata};
use tracing_subscriber::filter::{EnvFilter, FilterExt as _, FilterFn, LevelFilter, ParseError};
use tracing_subscriber::layer::{Filter, SubscriberExt};
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
    let logs = logs(config.log_format).with_filter(without_contents(log_filter));
    let installed = tracing_subscriber::registry().with(traces).with(logs).try_init();
    // Another thread may have been first.
    Ok(TelemetryGuard(provider.filter(|_| installed.is_ok())))
}

/// Which spans are traced. The transport of the exporter must not be: each export would cause another one.
const OTLP_FILTER: &str = "info,runtime=debug,h2=off,hyper=off,tonic=off,tower=off,opentelemetry=off";

/// Our crates, by the first part of their targets. They never log contents.
#[rustfmt::skip]
const OURS: [&str; 36] = [
    "api_json", "archive", "backoff", "context", "conversations", "dashboard", "devstack", "divergence", "domain",
    "egress", "event_log", "formats", "gateway", "generation", "hansard", "history", "http_listener", "identity",
    "keyed_history", "models", "openai_api", "pages", "projector", "quotas", "read_model", "record_access", "redact",
    "registry", "runs", "runtime", "search", "system_status", "tokens", "widget", "wire", "writer",
];

/// A filter of logs without what callers sent. It keeps the hint of the most verbose level: without a hint, every span and event below
/// it would be created and examined.
fn without_contents<S>(filter: EnvFilter) -> impl Filter<S>
where
    S: tracing::Subscriber + for<'a> LookupSpan<'a>,
{
    filter.and(FilterFn::new(is_without_contents).with_max_level_hint(LevelFilter::TRACE))
}

/// Whether an event cannot contain what callers sent: at the level `trace`, libraries log whole requests and messages, whatever the
/// filter of the operator says.
fn is_without_contents(metadata: &Metadata<'_>) -> bool {
    let krate = metadata.target().split("::").next().unwrap_or_default();
    *metadata.level() < Level::TRACE || OURS.contains(&krate)
}

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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::{Arc, Mutex, PoisonError};

    use tracing_subscriber::fmt::MakeWriter;

    use super::*;

    #[derive(Debug, Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Lines {
        type Writer = Self;

        fn make_writer(&'a self) -> Self {
            self.clone()
        }
    }

    #[test]
    fn no_filter_logs_what_libraries_trace() {
        let lines = Lines::default();
        for directives in ["trace", "hyper=trace,gateway::http=trace,h2=debug"] {
            let filter = without_contents(filter("log_filter", directives).unwrap());
            let layer = fmt::layer().with_writer(lines.clone()).with_filter(filter);
            tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
                tracing::trace!(target: "hyper::proto", "a message");
                tracing::trace!(target: "gatewayed", "a message");
                tracing::trace!(target: "gateway::http", "ours");
                tracing::debug!(target: "h2", "a library's");
            });
        }
        let logged = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        assert!(!logged.contains("a message"), "{logged}");
        assert_eq!((logged.matches("ours").count(), logged.matches("a library's").count()), (2, 2), "{logged}");
    }

    #[test]
    fn spans_below_the_filter_cost_nothing() {
        for (directives, expected) in
            [("error", LevelFilter::ERROR), ("info", LevelFilter::INFO), ("trace", LevelFilter::TRACE)]
        {
            let filter = without_contents::<tracing_subscriber::Registry>(filter("log_filter", directives).unwrap());
            // `rmcp=error` is a directive of every filter.
            assert_eq!(filter.max_level_hint(), Some(expected), "{directives}");
        }
    }

    #[test]
    fn our_crates_are_all_crates() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let folders = ["crates", "services"].map(|folder| fs::read_dir(root.join(folder)).unwrap());
        let mut names: Vec<String> = folders
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap().replace('-', "_"))
            .collect();
        names.sort();
        assert_eq!(names, OURS);
    }
}
