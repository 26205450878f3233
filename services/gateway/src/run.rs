//! Starts a gateway: connects, binds its listeners, serves, and drains at shutdown.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use archive::Archive;
use divergence::{Guard, ROWS_OF_RECORD};
use egress::Policy;
use event_log::Record;
use history::Reader;
use models::ModelServers;
use read_model::ReadModel;
use registry::Registry;
use runtime::admin::Admin;
use runtime::clock::Clock;
use runtime::compute::Compute;
use runtime::config::Secret;
use runtime::grpc::{GrpcConfig, GrpcServer};
use runtime::health::{Health, Probe};
use runtime::http::{BoundHttpServer, HttpServer};
use runtime::serve::Listeners;
use runtime::shutdown::Shutdown;
use runtime::start::StartError;
use wire::proto::document::v1::document_service_server::DocumentServiceServer;
use wire::proto::history::v1::history_service_server::HistoryServiceServer;
use wire::proto::operate::v1::audit_service_server::AuditServiceServer;
use wire::proto::read::v1::read_service_server::ReadServiceServer;

use crate::document_rpc::DocumentRpc;
use crate::history_rpc::HistoryRpc;
use crate::http::router;
use crate::rpc::{ForwardedWrites, ReadRpc};
use crate::{GatewayConfig, key_report, retention};
use conversations::audit::{self, TokenReads};
use conversations::commands::Commands;
use conversations::policies::Policies;
use conversations::{Conversations, search};
use generation::{Dependencies, Generations};
use http_listener::lag_samples::LagSamples;
use http_listener::openid::Provider;
use http_listener::rate_limits::RateLimits;
use http_listener::state::HttpState;
use record_access::token_keys::TokenKeys;
use record_access::watcher::Watchers;
use record_access::writer::WriterClient;
use record_access::{Gateway, Parts, writer_token};

/// Maximum size of a request message, in bytes.
const MESSAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The dependency that is down while only other servers answer at `writer_url`.
const WRITER: &str = "writer";
/// The dependency that is down while the gateway's own token is refused.
const WRITER_TOKEN: &str = "writer_token";

/// The addresses of a running gateway.
#[derive(Debug, Clone, Copy)]
pub struct Running {
    /// The gRPC listener.
    pub grpc_addr: SocketAddr,
    /// The HTTP listener.
    pub http_addr: SocketAddr,
    /// The listener of metrics and readiness.
    pub admin_addr: SocketAddr,
}

/// Starts a gateway. It serves until `shutdown` begins, then drains. The record must exist; Postgres may become available
/// later.
///
/// # Errors
/// A dependency is missing or misconfigured.
pub async fn start(config: GatewayConfig, shutdown: &Shutdown) -> Result<Running, StartError> {
    let metrics = runtime::metrics::install()?;
    metrics.set_role("gateway");
    // Loaded while dependencies connect, and before the first caller, so that no context waits for it.
    let vocabulary = tokio::task::spawn_blocking(tokens::load);
    let writer = WriterClient::at(&config.writer_url, config.writer_token.clone())?;
    let commands = Commands::new(writer.clone());
    let gateway = connect(&config, shutdown).await?;
    let health = Health::new(&["nats", "postgres", "registry", ROWS_OF_RECORD, WRITER, WRITER_TOKEN]);
    watch_health(&health, shutdown, &gateway);
    watch_token(&health, shutdown, &gateway, &config.writer_token);
    watch_writer(&health, shutdown, writer.clone());
    let deps = retention::Dependencies {
        record: gateway.reader.record.clone(),
        registry: gateway.registry.clone(),
        read_model: gateway.reader.read_model.clone(),
        commands: commands.clone(),
        token: config.writer_token.clone(),
        clock: gateway.clock.clone(),
    };
    retention::start(&deps, &config.retention, shutdown);
    shutdown.spawn(audit::send(gateway.clone(), writer.clone(), shutdown.clone()));
    for database in gateway.reader.read_model.databases() {
        shutdown.spawn_cancellable(search::publish(gateway.clone(), database));
    }
    if !config.writer_token.is_empty() {
        let every = Duration::from_millis(config.key_report_every_ms);
        shutdown.spawn_cancellable(key_report::run(gateway.registry.clone(), writer.clone(), every));
    }
    let generations = generations(&config, &gateway, writer.clone(), shutdown)?;
    let provider =
        Provider::new(&config.http.dashboard.oidc, &Policy::new(&config.egress)).map_err(StartError::dependency)?;
    let state = HttpState {
        lag: sampled_lag(&gateway, shutdown),
        provider: provider.map(Arc::new),
        limits: RateLimits::new(&config.http),
        conversations: Conversations::new(gateway.clone(), commands.clone(), generations),
        health: health.clone(),
        section: Arc::new(config.http),
    };
    vocabulary.await.map_err(StartError::dependency)?;
    let http = bind_http(state).await?;
    let admin = Admin::bind(config.admin_addr, health.clone(), metrics).await?;
    let forwarded = ForwardedWrites::to(writer.forwarding(), gateway.clone());
    let server = grpc_server(config.grpc, health, gateway, commands).service(forwarded).bind().await?;
    let running =
        Running { grpc_addr: server.local_addr(), http_addr: http.local_addr(), admin_addr: admin.local_addr() };
    runtime::serve::spawn("gateway", Listeners::new(server, http), admin, shutdown);
    tracing::info!(grpc.addr = %running.grpc_addr, http.addr = %running.http_addr, admin.addr = %running.admin_addr, "gateway serves");
    Ok(running)
}

/// Connects the dependencies of reads. Watchers and the measurement of replicas end with `shutdown`.
///
/// # Errors
/// The record does not exist, or the read model is misconfigured.
pub async fn connect(config: &GatewayConfig, shutdown: &Shutdown) -> Result<Gateway, StartError> {
    let record = Record::open(config.record.clone()).await.map_err(StartError::dependency)?;
    let read_model = ReadModel::connect_replicated(&config.read_model).map_err(StartError::dependency)?;
    let guard = Guard::start(&record, &read_model, shutdown).await.map_err(StartError::dependency)?;
    let registry = Registry::open(&record).await.map_err(StartError::dependency)?;
    registry.check_secrets().map_err(StartError::dependency)?;
    shutdown.spawn_cancellable(read_model.clone().watch_replicas());
    let archive = Archive::at(&record, &config.archive_url).map_err(StartError::dependency)?;
    let token_keys = TokenKeys::new(&registry, Policy::new(&config.egress));
    let compute = Compute::default();
    Ok(Gateway::new(Parts {
        token_keys: token_keys.map_err(StartError::dependency)?,
        policies: Policies::new(compute.clone()),
        compute,
        registry,
        reader: Reader::new(archive, read_model, Duration::from_millis(config.fence_wait_ms)),
        watchers: Watchers::new(
            config.watchers_max,
            Duration::from_millis(config.watch_idle_check_ms),
            shutdown.token(),
        ),
        token_reads: TokenReads::default(),
        guard,
        clock: Clock::corrected(record.clock_correction()),
    }))
}

/// The runs of a gateway. They end with `shutdown`. Starts the sweeper of abandoned runs.
///
/// # Errors
/// A dependency is misconfigured.
pub fn generations(
    config: &GatewayConfig,
    gateway: &Gateway,
    writer: WriterClient,
    shutdown: &Shutdown,
) -> Result<Generations, StartError> {
    let deps = Dependencies {
        writer,
        token: config.writer_token.clone(),
        models: ModelServers::new(&config.models).map_err(StartError::dependency)?,
        egress: config.egress.clone(),
        quotas: config.quotas,
        shutdown: shutdown.clone(),
    };
    Generations::new(gateway.clone(), deps, &config.generation).map_err(StartError::dependency)
}

/// The lag of rows and search, which is sampled until `shutdown`.
fn sampled_lag(gateway: &Gateway, shutdown: &Shutdown) -> LagSamples {
    let samples = LagSamples::default();
    let Reader { record, read_model, .. } = gateway.reader.clone();
    shutdown.spawn_cancellable(samples.clone().run(record, read_model, gateway.clock.clone()));
    samples
}

/// The gRPC services.
fn grpc_server(config: GrpcConfig, health: Health, gateway: Gateway, commands: Commands) -> GrpcServer {
    let known_callers = gateway.registry.clone();
    let read = ReadServiceServer::new(ReadRpc::new(gateway.clone())).max_decoding_message_size(MESSAGE_BYTES_MAX);
    let audit = AuditServiceServer::new(ReadRpc::new(gateway.clone()));
    let document_rpc = DocumentRpc::new(gateway.clone(), commands.clone());
    let documents = DocumentServiceServer::new(document_rpc).max_decoding_message_size(MESSAGE_BYTES_MAX);
    let history =
        HistoryServiceServer::new(HistoryRpc::new(gateway, commands)).max_decoding_message_size(MESSAGE_BYTES_MAX);
    GrpcServer::new(config, health)
        .trusted_callers(move |headers| known_callers.known_token_id(headers).is_some())
        .descriptors(wire::proto::FILE_DESCRIPTOR_SET)
        .service(read)
        .service(history)
        .service(documents)
        .service(audit)
}

async fn bind_http(state: HttpState) -> Result<BoundHttpServer, StartError> {
    let server = HttpServer::new(state.section.server.clone(), state.health.clone());
    let limits = state.limits.clone();
    let registry = state.gateway.registry.clone();
    let trusted_proxies = state.section.trusted_proxies.clone();
    let routes = router::router(state).map_err(StartError::OpenApi)?;
    let listener = server
        .trusted_proxies(trusted_proxies)
        .router(routes)
        .layered(|routes| router::guarded(routes, limits, move |headers| registry.known_token_id(headers)));
    Ok(listener.bind().await?)
}

fn watch_health(health: &Health, shutdown: &Shutdown, gateway: &Gateway) {
    let record = gateway.reader.record.clone();
    shutdown.spawn_cancellable(health.clone().probe("nats", Probe::DEFAULT, move || {
        let record = record.clone();
        async move { record.check().await }
    }));
    gateway.guard.report(health, shutdown);
    let read_model = gateway.reader.read_model.unguarded();
    shutdown.spawn_cancellable(health.clone().probe("postgres", Probe::DEFAULT, move || {
        let read_model = read_model.clone();
        async move { read_model.check().await }
    }));
    let registry = gateway.registry.clone();
    shutdown.spawn_cancellable(health.clone().probe("registry", Probe::DEFAULT, move || {
        let is_fresh = registry.is_fresh();
        async move { is_fresh.then_some(()).ok_or("the gateway receives no changes of the registry") }
    }));
}

/// Keeps the gateway unready while only other servers answer at `writer_url`. Without a writer it still reads.
fn watch_writer(health: &Health, shutdown: &Shutdown, writer: WriterClient) {
    shutdown.spawn_cancellable(health.clone().probe(WRITER, Probe::DEFAULT, move || {
        let checked = writer.check();
        async move { checked }
    }));
}

/// Keeps the gateway unready while its own token is refused: each write of a frontend would fail.
fn watch_token(health: &Health, shutdown: &Shutdown, gateway: &Gateway, token: &Secret) {
    let (gateway, token) = (gateway.clone(), token.clone());
    shutdown.spawn_cancellable(health.clone().probe(WRITER_TOKEN, Probe::DEFAULT, move || {
        let checked = writer_token::check(&gateway.registry, &token, gateway.now());
        async move { checked }
    }));
}
