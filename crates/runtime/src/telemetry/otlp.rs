//! The export of traces by OTLP over gRPC, and its end.

use std::time::Duration;

use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{SpanExporter, WithTonicConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider};
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::registry::LookupSpan;

use super::TelemetryError;
use super::config::TelemetryConfig;
use crate::tls;

/// The longest wait for the last traces to leave.
pub const FLUSH_MAX: Duration = Duration::from_secs(3);

/// The longest wait for a connection to the collector.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// The longest wait for the collector's answer to one batch.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(2);

/// Sends the last traces when it ends.
#[derive(Debug)]
#[must_use = "traces stop when the guard is dropped"]
pub struct TelemetryGuard(Option<SdkTracerProvider>);

impl TelemetryGuard {
    pub(super) const fn new(provider: Option<SdkTracerProvider>) -> Self {
        Self(provider)
    }

    pub(super) const fn inert() -> Self {
        Self(None)
    }

    /// Sends what is left, for at most [`FLUSH_MAX`]; better than a drop, which blocks its thread
    /// and, on a runtime of one thread, can send nothing.
    pub async fn shutdown(mut self) {
        if let Some(provider) = self.0.take() {
            // A panic of the exporter is no reason to fail the end of the process.
            let _ = tokio::task::spawn_blocking(move || end(&provider)).await;
        }
    }
}

impl Drop for TelemetryGuard {
    fn drop(&mut self) {
        if let Some(provider) = &self.0 {
            end(provider);
        }
    }
}

fn end(provider: &SdkTracerProvider) {
    if let Err(error) = provider.shutdown_with_timeout(FLUSH_MAX) {
        tracing::warn!(%error, "the last traces were not exported");
    }
}

pub(super) fn provider(
    config: &TelemetryConfig,
) -> Result<Option<SdkTracerProvider>, TelemetryError> {
    let Some(endpoint) = &config.otlp_endpoint else {
        return Ok(None);
    };
    let endpoint = tls::endpoint(endpoint)?
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(EXPORT_TIMEOUT);
    let exporter = SpanExporter::builder()
        .with_tonic()
        .with_channel(endpoint.connect_lazy())
        .build()?;
    let sampler = Sampler::TraceIdRatioBased(config.otlp_sample_ratio);
    let resource = Resource::builder()
        .with_service_name(config.service_name.clone())
        .build();
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_sampler(Sampler::ParentBased(Box::new(sampler)))
        .with_resource(resource)
        .build();
    Ok(Some(provider))
}

pub(super) fn layer<S>(provider: &SdkTracerProvider) -> OpenTelemetryLayer<S, SdkTracer>
where
    S: tracing::Subscriber + for<'a> LookupSpan<'a>,
{
    // Threads, source lines and idle times would double the size of a span.
    OpenTelemetryLayer::new(provider.tracer("hansard"))
        .with_threads(false)
        .with_location(false)
        .with_tracked_inactivity(false)
}
