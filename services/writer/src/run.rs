//! The start of a writer: connect, bind, serve.

use std::net::SocketAddr;
use std::time::Duration;

use archive::Archive;
use divergence::{Guard, ROWS_OF_RECORD, create_record, find_in_catalogue};
use domain::Timestamp;
use event_log::{Record, Unavailable};
use read_model::ReadModel;
use registry::Registry;
use runtime::admin::Admin;
use runtime::clock::Clock;
use runtime::compute::Compute;
use runtime::grpc::GrpcServer;
use runtime::health::{Health, Probe};
use runtime::shutdown::Shutdown;
use runtime::start::StartError;
use wire::proto::operate::v1::registry_service_server::RegistryServiceServer;
use wire::proto::run::v1::run_service_server::RunServiceServer;
use wire::proto::write::v1::write_service_server::WriteServiceServer;

use crate::rpc::{RegistryRpc, RunRpc, StreamSettings, WriteRpc};
use crate::tips::TIPS_CACHED_MAX;
use crate::{EgressRules, HeadCache, Parts, Queues, Removals, Tips, WriteQuotas, Writer, WriterConfig, key_report};

/// Maximum size of a request message, in bytes: above the payload limit of the record, so that a commit that is too large
/// gets its own error.
const MESSAGE_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Maximum number of commands of one stream that are executed at once. Further ones wait at the caller. More did not make a
/// stream faster.
const STREAM_COMMANDS_MAX: usize = 256;

/// The addresses of a running writer.
#[derive(Debug, Clone, Copy)]
pub struct Running {
    /// The bound gRPC address.
    pub grpc_addr: SocketAddr,
    /// The bound address of the admin port.
    pub admin_addr: SocketAddr,
}

/// Starts a writer. It serves until `shutdown`, then drains. It creates the record if there is none.
///
/// # Errors
/// A dependency is missing or misconfigured. The read model may be unavailable: only old idempotency keys and erasures that
/// refuse forks need it.
pub async fn start(config: WriterConfig, shutdown: &Shutdown) -> Result<Running, StartError> {
    let metrics = runtime::metrics::install()?;
    metrics.set_role("writer");
    // Loaded while the record is opened, and before the first caller, so that no append waits for it.
    let vocabulary = tokio::task::spawn_blocking(tokens::load);
    let read_model = ReadModel::connect_lazy(&config.read_model).map_err(StartError::dependency)?;
    let record = create_record(config.record.clone(), &read_model.databases()).await.map_err(StartError::dependency)?;
    let clock = Clock::corrected(record.clock_correction());
    check_catalogue(&record).await?;
    let guard = Guard::start(&record, &read_model, shutdown).await.map_err(StartError::dependency)?;
    let archive = Archive::at(&record, &config.archive_url).map_err(StartError::dependency)?;
    let registry = open_registry(&record, &clock).await.map_err(StartError::dependency)?;
    let known_callers = registry.clone();
    let health = Health::new(&["nats", "registry", ROWS_OF_RECORD]);
    watch_health(&record, &registry, &health, shutdown);
    guard.report(&health, shutdown);
    let every = Duration::from_millis(config.key_report_every_ms);
    shutdown.spawn_cancellable(key_report::run(registry.clone(), clock.clone(), every));
    let removals = Removals::new(record.clone(), clock.clone(), shutdown.clone());
    removals.start();
    let writer = Writer::new(Parts {
        heads: HeadCache::new(archive.clone(), config.heads_cached_max),
        quotas: WriteQuotas::new(&config.quotas),
        record,
        archive,
        registry,
        egress: EgressRules::new(config.egress),
        read_model,
        tips: Tips::new(TIPS_CACHED_MAX),
        queues: Queues::default(),
        removals,
        provider_sign_ins: config.provider_sign_ins,
        compute: Compute::default(),
        clock,
    });
    let streams = StreamSettings { commands_max: STREAM_COMMANDS_MAX, drain: shutdown.token() };
    let write =
        WriteServiceServer::new(WriteRpc::new(writer.clone(), streams)).max_decoding_message_size(MESSAGE_BYTES_MAX);
    let run = RunServiceServer::new(RunRpc::new(writer.clone())).max_decoding_message_size(MESSAGE_BYTES_MAX);
    let registry = RegistryServiceServer::new(RegistryRpc::new(writer)).max_decoding_message_size(MESSAGE_BYTES_MAX);
    vocabulary.await.map_err(StartError::dependency)?;
    let admin = Admin::bind(config.admin_addr, health.clone(), metrics).await?;
    let server = GrpcServer::new(config.grpc, health)
        .trusted_callers(move |headers| known_callers.known_token_id(headers).is_some())
        .descriptors(wire::proto::FILE_DESCRIPTOR_SET)
        .service(write)
        .service(run)
        .service(registry)
        .bind()
        .await?;
    let running = Running { grpc_addr: server.local_addr(), admin_addr: admin.local_addr() };
    runtime::serve::spawn("writer", server, admin, shutdown);
    tracing::info!(grpc.addr = %running.grpc_addr, admin.addr = %running.admin_addr, "writer serves");
    Ok(running)
}

/// Opens the registry, and creates missing secrets.
async fn open_registry(record: &Record, clock: &Clock) -> Result<Registry, Unavailable> {
    let registry = Registry::open(record).await?;
    check_secrets(&registry)?;
    let now = Timestamp(clock.now_nanos());
    registry.make_missing_tenant_secrets(now).await?;
    record.move_legacy_receipt_seed(now).await?;
    Ok(registry)
}

/// Checks that all secrets can be decrypted: a writer would replace a secret that it cannot decrypt. Warns about secrets that
/// are not encrypted.
fn check_secrets(registry: &Registry) -> Result<(), Unavailable> {
    registry.check_secrets()?;
    let secrets = registry.count_plaintext_secrets();
    if secrets > 0 {
        tracing::warn!(
            secrets,
            "secrets are not encrypted: set HANSARD_MASTER_KEY_FILE, then run hansard master-key rotate"
        );
    }
    Ok(())
}

/// Checks that no new commit gets the sequence of an archived one.
async fn check_catalogue(record: &Record) -> Result<(), StartError> {
    let diverged = find_in_catalogue(record).await.map_err(StartError::dependency)?;
    diverged.first().map_or(Ok(()), |first| Err(StartError::dependency(first.clone())))
}

fn watch_health(record: &Record, registry: &Registry, health: &Health, shutdown: &Shutdown) {
    let record = record.clone();
    shutdown.spawn_cancellable(health.clone().probe("nats", Probe::DEFAULT, move || {
        let record = record.clone();
        async move { record.check().await }
    }));
    let registry = registry.clone();
    shutdown.spawn_cancellable(health.clone().probe("registry", Probe::DEFAULT, move || {
        let is_fresh = registry.is_fresh();
        async move { is_fresh.then_some(()).ok_or("the watch of the registry is stale") }
    }));
}
