//! Sends the reads of service tokens to the writer, one commit for each batch of a tenant.

use std::time::Duration;

use backoff::Backoff;
use futures::StreamExt as _;
use futures::stream;
use runtime::shutdown::Shutdown;
use tokio::time::{Instant, timeout_at};

use crate::writer::WriterClient;
use crate::{Gateway, metrics};

/// Maximum number of tenants whose reads are sent at once.
const SENDS_AT_ONCE: usize = 8;
/// The deadline of one request.
const SEND_MAX: Duration = Duration::from_secs(5);
/// First wait after a failed request.
const RETRY_WAIT_BASE: Duration = Duration::from_millis(100);
/// Maximum wait after a failed request.
const RETRY_WAIT_MAX: Duration = Duration::from_secs(2);
/// How long reads are sent after the shutdown has begun.
const DRAIN_MAX: Duration = Duration::from_secs(10);

/// Sends the reads until the shutdown has begun and none waits.
pub async fn send(gateway: Gateway, writer: WriterClient, shutdown: Shutdown) {
    send_until(&gateway, &writer, shutdown.begun()).await;
    let rest = async {
        while !gateway.token_reads.close_if_empty() {
            send_all(&gateway, &writer).await;
        }
    };
    if timeout_at(Instant::now() + DRAIN_MAX, rest).await.is_err() {
        let lost = gateway.token_reads.close();
        metrics::audited_reads("lost", lost);
        tracing::error!(reads.count = lost, "the writer does not answer: reads are missing in audit logs");
    }
}

async fn send_until(gateway: &Gateway, writer: &WriterClient, end: impl Future<Output = ()>) {
    let sending = async {
        loop {
            gateway.token_reads.queued.notified().await;
            send_all(gateway, writer).await;
        }
    };
    tokio::select! {
        () = sending => {}
        () = end => {}
    }
}

/// Sends what waits, again while requests fail. One tenant does not delay the others by more than its failed requests.
async fn send_all(gateway: &Gateway, writer: &WriterClient) {
    let mut backoff = Backoff::new(RETRY_WAIT_BASE, RETRY_WAIT_MAX);
    loop {
        let requests = gateway.token_reads.requests(|| gateway.new_key());
        if requests.is_empty() {
            return;
        }
        let outcomes = stream::iter(requests).map(async |(tenant, request)| {
            let count = request.reads.len();
            let answer = writer.registry(SEND_MAX).record_reads(request).await;
            let outcome = match answer {
                Ok(_) => "recorded",
                Err(_) if gateway.registry.tenant(&tenant).is_none() => "dropped",
                Err(status) => {
                    tracing::warn!(tenant.id = tenant.as_str(), code = ?status.code(), "reads are not in the audit log yet");
                    return false;
                }
            };
            metrics::audited_reads(outcome, count);
            gateway.token_reads.sent(&tenant);
            true
        });
        let outcomes: Vec<bool> = outcomes.buffer_unordered(SENDS_AT_ONCE).collect().await;
        if outcomes.contains(&false) {
            backoff.wait().await;
        }
    }
}
