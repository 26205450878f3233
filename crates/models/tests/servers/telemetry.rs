//! What is told of requests: how many, how they ended, and nothing of what was said.

use metrics_exporter_prometheus::PrometheusBuilder;
use models::{ApiKey, ServerKind};

use crate::asking::{ask, ending, servers};
use crate::fake::{FakeServer, Script};
use crate::streams;

#[test]
fn requests_are_counted_by_their_end() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    metrics::with_local_recorder(&recorder, || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(some_requests());
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
        assert!(
            rendered.lines().any(|told| told == line),
            "{line}\n{rendered}"
        );
    }
    for secret in ["k1", "secret", "Hi"] {
        assert!(!rendered.contains(secret), "{rendered}");
    }
}

/// One that is tried again and finishes, one that is refused, and one whose caller leaves.
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
