//! The export of traces by OTLP over gRPC.

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

/// Maximum time to export the last traces.
pub const FLUSH_MAX: Duration = Duration::from_secs(3);

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

const EXPORT_TIMEOUT: Duration = Duration::from_secs(2);

/// Exports the last traces when it is shut down or dropped.
#[derive(Debug)]
#[must_use = "traces stop when the guard is dropped"]
pub struct TelemetryGuard(pub(super) Option<SdkTracerProvider>);

impl TelemetryGuard {
    /// Exports the remaining traces, in at most [`FLUSH_MAX`]. Call it instead of a drop: a drop blocks its thread,
    /// and exports nothing on a runtime with one thread.
    pub async fn shutdown(mut self) {
        if let Some(provider) = self.0.take() {
            // A panic of the exporter must not fail the shutdown.
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
        tracing::warn!(%error, "the last traces are not exported");
    }
}

pub(super) fn provider(config: &TelemetryConfig) -> Result<Option<SdkTracerProvider>, TelemetryError> {
    let Some(endpoint) = &config.otlp_endpoint else {
        return Ok(None);
    };
    let endpoint = tls::endpoint(endpoint)?.connect_timeout(CONNECT_TIMEOUT).timeout(EXPORT_TIMEOUT);
    let exporter = SpanExporter::builder().with_tonic().with_channel(endpoint.connect_lazy()).build()?;
    let sampler = Sampler::TraceIdRatioBased(config.otlp_sample_ratio);
    let resource = Resource::builder().with_service_name(config.service_name.clone()).build();
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
    // Thread, location and idle time would double the size of a span.
    OpenTelemetryLayer::new(provider.tracer("hansard"))
        .with_threads(false)
        .with_location(false)
        .with_tracked_inactivity(false)
}
