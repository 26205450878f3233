//! Metrics of requests: their number and outcome, without contents.

use metrics_exporter_prometheus::PrometheusBuilder;
use models::{ApiKey, ServerKind};

use crate::fake::{FakeServer, Script};
use crate::requests::{ask, ending, servers};
use crate::streams;

#[test]
fn requests_are_counted_by_outcome() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    metrics::with_local_recorder(&recorder, || {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(some_requests());
    });
    let rendered = handle.render();
    let name = "hansard_models_requests_total";
    for line in [
        &format!("{name}{{server=\"fake\",outcome=\"finished\"}} 1"),
        &format!("{name}{{server=\"fake\",outcome=\"dropped\"}} 1"),
        &format!("{name}{{server=\"fake\",outcome=\"model_refused\"}} 1"),
        "hansard_models_retries_total{server=\"fake\"} 1",
        "hansard_models_first_piece_seconds_count{server=\"fake\"} 2",
    ] {
        let has_line = rendered.lines().any(|rendered| rendered == line);
        assert!(has_line, "{line}\n{rendered}");
    }
    for secret in ["k1", "secret", "Hi"] {
        assert!(!rendered.contains(secret), "{rendered}");
    }
}

/// A request that is retried and finishes, one that is rejected, and one that is dropped.
async fn some_requests() {
    let kind = ServerKind::OpenAiChat;
    let server = FakeServer::start([
        Script::status(500, "retry-after: 0\r\n", ""),
        Script::stream([streams::whole(kind).as_bytes()]),
        Script::status(400, "", r#"{"error":{"message":"secret"}}"#),
        Script::begun([streams::first(kind).as_bytes()]),
    ])
    .await;
    let servers = servers(kind, &server, |config| {
        config.api_key = Some(ApiKey::new("k1"));
    });
    assert_eq!(ending(&servers).await.1, "finished");
    assert_eq!(ending(&servers).await.1, "model_refused");
    drop(ask(&servers).await.unwrap());
}
