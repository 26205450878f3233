//! A trace collector: receives OTLP over gRPC and keeps the spans.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{TraceService, TraceServiceServer};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::trace::v1::Span;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status};

use crate::eventually::{TIMEOUT, eventually};

/// A running collector. It stops when dropped.
#[derive(Debug)]
pub struct Collector {
    endpoint: String,
    spans: Spans,
    serving: JoinHandle<()>,
}

#[derive(Debug, Clone, Default)]
struct Spans(Arc<Mutex<Vec<Span>>>);

impl Collector {
    /// Starts a collector on a free port.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start() -> Self {
        Self::serve(Server::builder(), "http").await
    }

    /// Starts a collector with TLS, with the certificate and the key of these files.
    ///
    /// # Panics
    /// When the files are invalid, or no port is free.
    pub async fn start_over_tls(cert: &Path, key: &Path) -> Self {
        let read = |file: &Path| std::fs::read(file).expect("a file of TLS");
        let identity = Identity::from_pem(read(cert), read(key));
        let server = Server::builder().tls_config(ServerTlsConfig::new().identity(identity));
        Self::serve(server.expect("a certificate and its key"), "https").await
    }

    async fn serve(mut builder: Server, scheme: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let endpoint = format!("{scheme}://{}", listener.local_addr().expect("an address"));
        let spans = Spans::default();
        let service = TraceServiceServer::new(spans.clone());
        let serving = tokio::spawn(async move {
            let incoming = TcpListenerStream::new(listener);
            builder.add_service(service).serve_with_incoming(incoming).await.expect("a collector that serves");
        });
        Self { endpoint, spans, serving }
    }

    /// The endpoint to which processes export spans.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// The number of received spans.
    #[must_use]
    pub fn count(&self) -> usize {
        self.spans.lock().len()
    }

    /// Waits for a span, and returns the first that matches.
    ///
    /// # Panics
    /// When none arrives in time; the panic shows `what` and the names of the received spans.
    pub async fn span(&self, what: &str, fits: impl Fn(&Span) -> bool) -> Span {
        let names = || {
            let spans = self.spans.lock();
            let mut names: Vec<String> = spans.iter().map(|span| span.name.clone()).collect();
            names.dedup();
            names
        };
        let find = || self.spans.lock().iter().find(|span| fits(span)).cloned();
        let waiting = eventually(what, || std::future::ready(find()));
        let found = tokio::time::timeout(TIMEOUT / 2, waiting).await.ok();
        found.unwrap_or_else(|| panic!("{what} is not among {:?}", names()))
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Spans {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Span>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[tonic::async_trait]
impl TraceService for Spans {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let scopes = request.into_inner().resource_spans.into_iter().flat_map(|of| of.scope_spans);
        self.lock().extend(scopes.flat_map(|scope| scope.spans));
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}
