//! The bench's own stack: durable servers in a temporary folder, and one process per role, as in deployments.
//!
//! The roles end when this process ends, for any reason: each watches its standard input. `devstack` runs the servers.

mod gateway;

use std::fs::{self, Permissions};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use devstack::{Stack, StackConfig};
use domain::{AgentId, DisplayName, TenantId, Timestamp};
use event_log::{Record, RecordConfig};
use hansard::client::Service;
use registry::Registry;
use runtime::clock::Clock;
use tempfile::TempDir;
use tokio::process::Command;
use tokio::sync::Mutex;
use wire::proto::operate::v1::{CreateServiceTokenRequest, ListAgentsRequest, Scope};
use wire::proto::read::v1::ListConversationsRequest;
use wire::proto::read::v1::list_conversations_request::Filter;

use super::PRODUCT;
use super::addresses::{Addresses, Servers};
use super::cpu::CpuMeter;
use super::pace::until;
use super::report::Memory;
use super::role_process::RoleProcess;

pub(crate) use gateway::{ExtraGateway, GatewayFactory};

/// The role with an HTTP listener, which needs an own port.
const GATEWAY: &str = "gateway";
/// The id of the bench's tenant and agent.
const NAME: &str = "bench";
/// The user of the Postgres process must be able to enter the folder.
const FOLDER_MODE: u32 = 0o755;
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A running stack. [`OwnStack::stop`] stops it gracefully; dropping it kills it.
pub(crate) struct OwnStack {
    writer: RoleProcess,
    gateway: RoleProcess,
    /// Suites stop and start it.
    pub(crate) projector: Arc<Mutex<RoleProcess>>,
    pub(crate) gateways: GatewayFactory,
    stack: Stack,
    pub(crate) addresses: Addresses,
    // Last, so that it is removed after all processes ended.
    _folder: TempDir,
}

impl OwnStack {
    /// Starts servers and roles. `program` is `hansard` or this program; `changes` are settings of roles, such as
    /// `projector.lanes=4`. The record has `partitions`.
    pub(crate) async fn start(
        program: PathBuf,
        parent: PathBuf,
        changes: &[String],
        partitions: u16,
    ) -> anyhow::Result<Self> {
        let folder = temporary_folder(parent)?;
        let stack = devstack::start(StackConfig::new(folder.path()), &devstack::quiet).await?;
        let servers = Servers {
            record: RecordConfig {
                monitor_url: stack.nats().map(devstack::NatsServer::monitor_url),
                client_name: "hansard-bench".to_owned(),
                partitions,
                ..RecordConfig::new(stack.nats_url())
            },
            database_url: stack.database_url(),
        };
        create_agent(&servers.record).await?;
        let operator = bootstrap(&program, &servers.record).await?;
        let (writer, gateway) = (free_address()?, free_address()?);
        let mut addresses = Addresses {
            writer_url: format!("http://{writer}"),
            gateway_url: format!("http://{gateway}"),
            token: String::new(),
            agent: NAME.to_owned(),
            servers: Some(servers.clone()),
        };
        let start = |name, grpc| {
            let mut settings = settings(&servers, grpc)?;
            if name == GATEWAY {
                settings.push("http.server.addr=127.0.0.1:0".to_owned());
            }
            settings.extend(role_settings(changes, name));
            RoleProcess::start(program.clone(), name, settings)
        };
        let mut writer = start("writer", Some(writer))?;
        addresses.token = service_token(&mut writer, &addresses.writer_url, &operator).await?;
        let gateways = GatewayFactory {
            program: program.clone(),
            servers: servers.clone(),
            writer_url: addresses.writer_url.clone(),
            token: addresses.token.clone(),
        };
        let mut own = Self {
            writer,
            projector: Arc::new(Mutex::new(start("projector", None)?)),
            gateway: start(GATEWAY, Some(gateway))?,
            gateways,
            stack,
            addresses,
            _folder: folder,
        };
        own.wait_until_ready().await?;
        Ok(own)
    }

    /// The peak memory of each role's process; empty if the system does not report it.
    pub(crate) async fn memory(&self) -> Vec<Memory> {
        let projector = self.projector.lock().await;
        [&self.writer, &projector, &self.gateway].into_iter().filter_map(RoleProcess::memory).collect()
    }

    /// Measures the processor time of the roles, the servers and this process.
    pub(crate) async fn cpu_meter(&self) -> CpuMeter {
        let projector = self.projector.lock().await;
        CpuMeter::of([
            ("writer", self.writer.pid()),
            ("projector", projector.pid()),
            (GATEWAY, self.gateway.pid()),
            ("nats-server", self.stack.nats().and_then(devstack::Daemon::pid)),
            ("postgres", self.stack.postgres().and_then(devstack::Daemon::pid)),
        ])
    }

    /// Stops the roles, then the servers.
    pub(crate) async fn stop(mut self) {
        self.gateway.stop().await;
        self.writer.stop().await;
        self.projector.lock().await.stop().await;
        self.stack.stop().await;
    }

    async fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let gateway = Service::at(&self.addresses.gateway_url, &self.addresses.token)?;
        let writer = Service::at(&self.addresses.writer_url, &self.addresses.token)?;
        let mut last_error = None;
        let ready = until("the roles did not start", LOOK_INTERVAL, START_TIMEOUT, async || {
            self.writer.check_runs()?;
            self.gateway.check_runs()?;
            self.projector.lock().await.check_runs()?;
            let everything = ListConversationsRequest {
                agent_id: NAME.to_owned(),
                filter: Some(Filter::WholeAgent(wire::proto::read::v1::WholeAgent {})),
                ..ListConversationsRequest::default()
            };
            let read = gateway.reader().list_conversations(everything).await;
            let agents = ListAgentsRequest { tenant_id: NAME.to_owned() };
            let listed = writer.registry().list_agents(agents).await;
            last_error = read.err().or(listed.err()).map(anyhow::Error::from);
            Ok(last_error.is_none())
        })
        .await;
        with_last_error(ready, last_error)
    }
}

fn temporary_folder(parent: PathBuf) -> anyhow::Result<TempDir> {
    fs::create_dir_all(&parent).with_context(|| format!("cannot use {}", parent.display()))?;
    let folder = tempfile::Builder::new().prefix("bench-").tempdir_in(parent)?;
    fs::set_permissions(folder.path(), Permissions::from_mode(FOLDER_MODE))?;
    Ok(folder)
}

async fn create_agent(record: &RecordConfig) -> anyhow::Result<()> {
    let record = Record::create(record.clone()).await?;
    let registry = Registry::open(&record).await?;
    let now = || Timestamp(Clock::System.now_nanos());
    let (tenant, agent) = (TenantId::parse(NAME)?, AgentId::parse(NAME)?);
    let name = DisplayName::parse(NAME)?;
    registry.create_tenant(&tenant, &name, now()).await?;
    registry.create_agent(&tenant, &agent, &name, now()).await?;
    Ok(())
}

/// Creates the operator's token with the measured program, because earlier versions reject tokens of later ones.
async fn bootstrap(program: &Path, record: &RecordConfig) -> anyhow::Result<String> {
    let mut command = Command::new(program);
    command.arg0(PRODUCT).env_clear();
    command.args(["bootstrap", "--name", NAME, "--nats-url", &record.nats_url]);
    command.args(["--partitions", &record.partitions.to_string()]);
    let created = command.output().await?;
    let (secret, error) = (created.stdout, String::from_utf8_lossy(&created.stderr));
    anyhow::ensure!(created.status.success(), "cannot create a token: {error}");
    Ok(String::from_utf8(secret)?.trim_end().to_owned())
}

/// Creates the bench's token as soon as the writer answers.
async fn service_token(role: &mut RoleProcess, writer_url: &str, operator: &str) -> anyhow::Result<String> {
    let writer = Service::at(writer_url, operator)?;
    let mut secret = String::new();
    let mut last_error = None;
    let ready = until("the writer did not start", LOOK_INTERVAL, START_TIMEOUT, async || {
        role.check_runs()?;
        let scopes = [Scope::Append, Scope::Read, Scope::Operate];
        let request = CreateServiceTokenRequest {
            display_name: NAME.to_owned(),
            scopes: scopes.map(i32::from).to_vec(),
            ..CreateServiceTokenRequest::default()
        };
        match writer.registry().create_service_token(request).await {
            Ok(created) => secret = created.into_inner().secret,
            Err(status) => last_error = Some(status.into()),
        }
        Ok(!secret.is_empty())
    })
    .await;
    with_last_error(ready, last_error)?;
    Ok(secret)
}

/// Adds the last error of a role to a timeout.
fn with_last_error<T>(ready: anyhow::Result<T>, last_error: Option<anyhow::Error>) -> anyhow::Result<()> {
    match (ready, last_error) {
        (Err(timeout), Some(error)) => Err(error.context(timeout)),
        (ready, _) => ready.map(drop),
    }
}

fn free_address() -> anyhow::Result<SocketAddr> {
    Ok((Ipv4Addr::LOCALHOST, devstack::port::reserve(1)?).into())
}

fn settings(servers: &Servers, grpc: Option<SocketAddr>) -> anyhow::Result<Vec<String>> {
    let monitor_url = servers.record.monitor_url.clone().unwrap_or_default();
    let mut settings = vec![
        "telemetry.log_filter=error".to_owned(),
        format!("admin_addr={}", free_address()?),
        format!("record.nats_url={}", servers.record.nats_url),
        format!("record.partitions={}", servers.record.partitions),
        format!("record.monitor_url={monitor_url}"),
        format!("read_model.database_url={}", servers.database_url),
    ];
    settings.extend(grpc.map(|address| format!("grpc.addr={address}")));
    Ok(settings)
}

fn role_settings<'a>(changes: &'a [String], role: &str) -> impl Iterator<Item = String> + use<'a> {
    let prefix = format!("{role}.");
    changes.iter().filter_map(move |change| change.strip_prefix(&prefix).map(str::to_owned))
}
