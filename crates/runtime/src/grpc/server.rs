//! Builds a gRPC server from services, binds it, serves it and drains it.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::response::IntoResponse;
use http::{HeaderMap, Request};
use hyper_util::rt::TokioTimer;
use hyper_util::server::conn::auto::Builder;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::server::NamedService;
use tonic::service::{Routes, RoutesBuilder};
use tower::{Service, ServiceExt};

use super::admission::Admission;
use super::call::Calls;
use super::config::GrpcConfig;
use super::health;
use super::method::Methods;
use super::rules::{Rules, TrustedCallers};
use crate::health::Health;
use crate::net::{self, BindError, Drain, Drained, Listener, Proxies, ReceivedBody, StreamExecutor};
use crate::tls::TlsError;

/// The name of this server in metrics.
const SERVER: &str = "grpc";

const PROTOCOLS: &[&[u8]] = &[b"h2"];

/// Maximum size of the header list of a call, in bytes.
const HEADER_LIST_BYTES_MAX: u32 = 16 * 1024;

/// The HTTP/2 window of a connection, in bytes. The transport closes a connection when the overhead of its unread small
/// frames exceeds half of it: with the default window, about 500 concurrent small calls close the connection.
const CONNECTION_WINDOW_BYTES: u32 = 16 * 1024 * 1024;

/// The HTTP/2 window of a stream, in bytes.
const STREAM_WINDOW_BYTES: u32 = 1024 * 1024;

/// Maximum number of concurrent calls on one connection. Further calls wait in the client.
const CONNECTION_STREAMS_MAX: u32 = 1024;

/// Time without traffic on a connection after which the server sends a PING. It is shorter than the idle timeouts of usual
/// load balancers and NATs.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(20);

/// Maximum wait for the reply to a PING. Then the connection is closed.
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum time until the first call of a connection.
const FIRST_CALL_TIMEOUT: Duration = Duration::from_mins(1);

const HEALTH_SERVICE: &str = "grpc.health.v1.Health";
const REFLECTION_SERVICES: [&str; 2] =
    ["grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"];

/// A gRPC server cannot be built or run.
#[derive(Debug, thiserror::Error)]
pub enum GrpcError {
    /// The port cannot be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The TLS files cannot be used.
    #[error("grpc.{0}")]
    Tls(#[from] TlsError),
    /// A descriptor set is not an encoded `FileDescriptorSet`.
    #[error("descriptor set cannot be read")]
    Descriptors(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A service is missing from the descriptor sets.
    #[error("service {0} is in no descriptor set; pass its set to `descriptors`")]
    Undescribed(&'static str),
}

/// Builds a gRPC server: health, reflection and the added services.
#[derive(Debug)]
#[must_use]
pub struct GrpcServer {
    config: GrpcConfig,
    health: Health,
    routes: RoutesBuilder,
    services: Vec<&'static str>,
    descriptors: Vec<&'static [u8]>,
    trusted_callers: TrustedCallers,
}

impl GrpcServer {
    /// A server with the health service only. Install the metrics recorder first.
    pub fn new(config: GrpcConfig, health: Health) -> Self {
        let mut routes = RoutesBuilder::default();
        routes.add_service(health::service(health.clone()));
        let descriptors = vec![
            tonic_health::pb::FILE_DESCRIPTOR_SET,
            tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET,
            tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET,
        ];
        Self {
            config,
            health,
            routes,
            services: Vec::new(),
            descriptors,
            trusted_callers: TrustedCallers::new(|_| false),
        }
    }

    /// Continues the traces of calls whose headers `trusts` accepts; other calls start a new trace. `trusts` must not block.
    pub fn trusted_callers(mut self, trusts: impl Fn(&HeaderMap) -> bool + Send + Sync + 'static) -> Self {
        self.trusted_callers = TrustedCallers::new(trusts);
        self
    }

    /// Adds an encoded `FileDescriptorSet`. Every added service must be in one.
    pub fn descriptors(mut self, set: &'static [u8]) -> Self {
        self.descriptors.push(set);
        self
    }

    /// Adds a service, also to health and reflection. The caller must set its `max_decoding_message_size`.
    pub fn service<S>(mut self, service: S) -> Self
    where
        S: Service<Request<Body>, Error = Infallible> + NamedService + Clone + Send + Sync + 'static,
        S::Response: IntoResponse,
        S::Future: Send + 'static,
    {
        self.routes.add_service(service);
        self.services.push(S::NAME);
        self.health.register(S::NAME);
        self
    }

    /// Binds the configured address.
    ///
    /// # Errors
    /// Every [`GrpcError`].
    pub async fn bind(mut self) -> Result<BoundGrpcServer, GrpcError> {
        let (socket, local_addr) = net::bind(SERVER, self.config.addr).await?;
        let tls = self.config.tls.acceptor(PROTOCOLS)?;
        let unreadable = |e| GrpcError::Descriptors(Box::new(e));
        let methods = Methods::from_descriptors(&self.descriptors).map_err(unreadable)?;
        if let Some(name) = self.services.iter().find(|name| !methods.describes(name)) {
            return Err(GrpcError::Undescribed(name));
        }
        if self.config.reflection {
            self.add_reflection().map_err(|e| GrpcError::Descriptors(Box::new(e)))?;
        }
        let drain = Drain::default();
        let rules = Rules {
            methods,
            admission: Admission::new(&self.config, drain.clone()),
            unary_timeout: Duration::from_millis(self.config.unary_timeout_ms),
            drain: drain.clone(),
            trusted_callers: self.trusted_callers.clone(),
        };
        let config = &self.config;
        let server = net::Server {
            listener: Listener {
                server: SERVER,
                socket,
                tls,
                connections_max: config.connections_max,
                proxies: Proxies::default(),
                config: config.connection,
                limits: config.transport,
            },
            rules: net::Rules {
                transport: transport(config),
                header_timeout: FIRST_CALL_TIMEOUT,
                body_progress: config.transport.body_progress(),
                memory: rules.admission.memory(),
                drain,
            },
            slots: rules.admission.slots(),
            health: self.health,
            drain_max: Duration::from_millis(config.drain_ms),
        };
        Ok(BoundGrpcServer {
            calls: Calls { inner: self.routes.routes().prepare(), rules: Arc::new(rules) },
            server,
            local_addr,
        })
    }

    fn add_reflection(&mut self) -> Result<(), tonic_reflection::server::Error> {
        let builder = || {
            let builder =
                self.descriptors.iter().fold(tonic_reflection::server::Builder::configure(), |builder, set| {
                    builder.register_encoded_file_descriptor_set(set)
                });
            self.services
                .iter()
                .chain(&[HEALTH_SERVICE])
                .chain(&REFLECTION_SERVICES)
                .fold(builder, |builder, name| builder.with_service_name(*name))
                .include_reflection_service(false)
        };
        let (v1, v1alpha) = (builder().build_v1()?, builder().build_v1alpha()?);
        self.routes.add_service(v1).add_service(v1alpha);
        Ok(())
    }
}

/// A bound gRPC server. It accepts connections when it is served.
#[derive(Debug)]
pub struct BoundGrpcServer {
    calls: Calls<Routes>,
    server: net::Server,
    local_addr: SocketAddr,
}

impl BoundGrpcServer {
    /// The bound address.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Serves until `shutdown`, then drains: reports `NOT_SERVING`, accepts no more connections and calls,
    /// ends server streams that have nothing to send, waits up to `drain_ms` for other calls, and closes the
    /// remaining connections. A handler of a request stream must watch `shutdown` itself.
    ///
    /// Dropping the future closes all connections.
    pub async fn serve(self, shutdown: CancellationToken) -> Drained {
        let calls = self.calls;
        let answer = move |request: Request<ReceivedBody>| calls.clone().oneshot(request);
        self.server.serve(answer, shutdown).await
    }
}

fn transport(config: &GrpcConfig) -> Builder<StreamExecutor> {
    let executor = StreamExecutor { write_timeout: config.transport.write_timeout() };
    let mut builder = Builder::new(executor).http2_only();
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(KEEPALIVE_INTERVAL)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
        .max_concurrent_streams(CONNECTION_STREAMS_MAX)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .max_header_list_size(HEADER_LIST_BYTES_MAX);
    builder
}
