//! The trace of an HTTP request. It has its own process, since tracing caches its state per process.

#![cfg(test)]

use std::time::Duration;

use axum::Router;
use axum::routing::get;
use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use runtime::health::Health;
use runtime::http::{HttpConfig, HttpServer};
use runtime::telemetry::traceparent;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::layer::SubscriberExt;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER_SPAN: &str = "b7ad6b7169203331";

/// The trace inside a request that has trace headers; `proxies` are trusted.
async fn inside(proxies: &[&str]) -> String {
    let routes = Router::new().route("/trace", get(async || traceparent().unwrap_or_default()));
    let server = HttpServer::new(HttpConfig::default(), Health::new(&[]))
        .trusted_proxies(proxies.iter().map(|net| net.parse().unwrap()).collect())
        .router(routes)
        .bind()
        .await
        .unwrap();
    let url = format!("http://{}/trace", server.local_addr());
    let end = CancellationToken::new();
    let serving = tokio::spawn(server.serve(end.clone()));
    // reqwest needs a TLS provider; it fails only if one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = client.get(url).header("traceparent", format!("00-{TRACE}-{CALLER_SPAN}-01"));
    let answer = timeout(Duration::from_secs(30), request.send()).await;
    let inside = answer.unwrap().unwrap().text().await.unwrap();
    end.cancel();
    serving.await.unwrap();
    inside
}

#[tokio::test]
async fn a_trusted_proxys_trace_goes_on_and_the_publics_does_not() {
    let tracer = SdkTracerProvider::builder().build().tracer("test");
    let layer = tracing_opentelemetry::layer().with_tracer(tracer);
    // The runtime of this test has no other thread.
    let _traced = tracing::subscriber::set_default(tracing_subscriber::registry().with(layer));
    for (proxies, continued) in [(&["127.0.0.0/8"][..], true), (&[], false)] {
        let inside = inside(proxies).await;
        assert!(inside.starts_with("00-"), "{inside}");
        assert_eq!(inside.contains(TRACE), continued, "{proxies:?}: {inside}");
        assert!(!inside.contains(CALLER_SPAN), "{inside}");
    }
}
