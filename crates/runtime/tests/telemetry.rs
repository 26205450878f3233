//! The trace and the metrics of a call, by the telemetry of the process, to a collector.

#![cfg(test)]

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use http::{Request, Response};
use runtime::grpc::{GrpcConfig, GrpcServer};
use runtime::health::Health;
use runtime::telemetry::{self, TelemetryConfig, TelemetryError};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_stream::wrappers::TcpListenerStream;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::server::{Grpc, NamedService};
use tonic::transport::{Endpoint, Server};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_prost::ProstCodec;
use tower::service_fn;

const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const TRACE_ID: [u8; 16] =
    [0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd, 0x84, 0x48, 0xeb, 0x21, 0x1c, 0x80, 0x31, 0x9c];
const PARENT_ID: [u8; 8] = [0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31];
const DEADLINE: Duration = Duration::from_secs(30);

/// Keeps all exports. Field 1 of an export is a message, which is decoded as bytes.
#[derive(Clone)]
struct Collector(Arc<watch::Sender<Vec<u8>>>);

impl NamedService for Collector {
    const NAME: &'static str = "opentelemetry.proto.collector.trace.v1.TraceService";
}

impl tower::Service<Request<Body>> for Collector {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let sent = Arc::clone(&self.0);
        Box::pin(async move {
            let keep = service_fn(move |request: tonic::Request<Vec<u8>>| {
                sent.send_modify(|all| all.extend(request.get_ref()));
                std::future::ready(Ok(tonic::Response::new(())))
            });
            Ok(Grpc::new(ProstCodec::<(), Vec<u8>>::default()).unary(keep, request).await)
        })
    }
}

async fn serve_collector() -> (String, Arc<watch::Sender<Vec<u8>>>, JoinHandle<()>) {
    let sent = Arc::new(watch::Sender::new(Vec::new()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let collector = Server::builder().add_service(Collector(Arc::clone(&sent)));
    let task = tokio::spawn(async move {
        collector.serve_with_incoming(TcpListenerStream::new(listener)).await.unwrap();
    });
    (endpoint, sent, task)
}

/// One call that succeeds and has a remote parent, and one that fails and has none.
async fn call_twice() {
    let shutdown = CancellationToken::new();
    let bound = GrpcServer::new(GrpcConfig::default(), Health::new(&[]))
        .trusted_callers(|headers| headers.contains_key("x-trusted"))
        .bind()
        .await
        .unwrap();
    let addr = bound.local_addr();
    let server = tokio::spawn(bound.serve(shutdown.clone()));
    let channel = Endpoint::from_shared(format!("http://{addr}")).unwrap().connect().await.unwrap();
    let mut request = tonic::Request::new(HealthCheckRequest::default());
    let metadata = request.metadata_mut();
    metadata.insert("traceparent", TRACEPARENT.parse().unwrap());
    metadata.insert("x-trusted", "yes".parse().unwrap());
    HealthClient::new(channel.clone()).check(request).await.unwrap();
    let unknown = HealthCheckRequest { service: "x".to_owned() };
    HealthClient::new(channel).check(unknown).await.unwrap_err();
    shutdown.cancel();
    timeout(DEADLINE, server).await.unwrap().unwrap();
}

fn check_sent(sent: &[u8], part: &[u8]) {
    let found = sent.windows(part.len()).any(|window| window == part);
    assert!(found, "no {:?} in {} bytes", String::from_utf8_lossy(part), sent.len());
}

fn check_line(text: &str, line: &str) {
    assert!(text.lines().any(|l| l == line), "no {line} in\n{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_traced_to_its_remote_parent_and_counted() {
    let metrics = runtime::metrics::install().unwrap();
    let (endpoint, sent, collector) = serve_collector().await;
    let broken = TelemetryConfig { log_filter: "a=b=c".to_owned(), ..TelemetryConfig::default() };
    let error = telemetry::init(&broken).unwrap_err();
    assert!(matches!(error, TelemetryError::Filter { key: "log_filter", .. }), "{error}");
    let config = TelemetryConfig { otlp_endpoint: Some(endpoint), ..TelemetryConfig::default() };
    let guard = telemetry::init(&config).unwrap();
    drop(telemetry::init(&config).unwrap());

    call_twice().await;
    guard.shutdown().await;
    collector.abort();

    let sent = sent.borrow().clone();
    check_sent(&sent, b"grpc.grpc.health.v1.Health.Check");
    check_sent(&sent, b"hansard");
    check_sent(&sent, &TRACE_ID);
    check_sent(&sent, &PARENT_ID);
    let text = metrics.render();
    let labels = r#"service="grpc.health.v1.Health",method="Check""#;
    check_line(&text, &format!(r#"grpc_server_calls_total{{{labels},code="Ok"}} 1"#));
    check_line(&text, &format!(r#"grpc_server_calls_total{{{labels},code="NotFound"}} 1"#));
    check_line(&text, &format!("grpc_server_calls_in_flight{{{labels}}} 0"));
    check_line(&text, &format!("grpc_server_call_seconds_count{{{labels}}} 2"));
}
