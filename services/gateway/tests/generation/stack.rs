//! Servers, a writer and a projector that all tests of the process share. Each test starts its own gateways.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::OnceLock;
use std::time::Duration;

use devstack::{NatsServer, test};
use domain::{AgentId, DisplayName, Label, TenantId, Timestamp};
use event_log::{Record, RecordConfig};
use gateway::GatewayConfig;
use models::{ModelServerConfig, ModelServersConfig, ServerKind};
use projector::ProjectorConfig;
use read_model::{ReadModel, ReadModelConfig};
use record_access::writer::WriterClient;
use registry::{CheckedSettings, NewServiceToken, Registry, Scope};
use runtime::config::Secret;
use runtime::grpc::GrpcConfig;
use runtime::shutdown::Shutdown;
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;
use uuid::Uuid;
use wire::proto::operate::v1::{AgentSettings, ModelSettings};
use writer::WriterConfig;

/// The deadline of each wait.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);
/// The tenant of all conversations.
pub(crate) const TENANT: &str = "acme";
/// A model server that waits before each word.
pub(crate) const SLOW: &str = "slow";
/// The delay of [`SLOW`].
pub(crate) const WORD_DELAY: Duration = Duration::from_millis(40);
/// A model server that waits before each word so long that a run without keep-alive parts would end as abandoned, if the
/// gateways end those after [`MUTE_ABANDONED_AFTER_MS`].
pub(crate) const MUTE: &str = "mute";
pub(crate) const MUTE_ABANDONED_AFTER_MS: u64 = 5_000;
const MUTE_DELAY: Duration = Duration::from_secs(7);

static RUNTIME: OnceLock<Runtime> = OnceLock::new();
static SHARED: OnceCell<Stack> = OnceCell::const_new();

/// A writer and a projector over servers of their own.
pub(crate) struct Stack {
    pub(crate) record: Record,
    pub(crate) registry: Registry,
    /// The configuration of every gateway.
    pub(crate) config: GatewayConfig,
    /// Ends the writer and the projector.
    pub(crate) shutdown: Shutdown,
}

/// Runs a test in the shared runtime: shared connections need it.
pub(crate) fn run(test: impl Future<Output = ()>) {
    let runtime = RUNTIME.get_or_init(|| Runtime::new().unwrap());
    runtime.block_on(async {
        tokio::time::timeout(Duration::from_mins(3), test).await.expect("the test ends in time");
    });
}

/// The stack of all tests.
pub(crate) async fn shared() -> &'static Stack {
    SHARED
        .get_or_init(async || {
            // Never dropped: its watchdog stops it when the process ends.
            let nats = Box::leak(Box::new(test::nats().await));
            Stack::over(nats).await
        })
        .await
}

impl Stack {
    /// A stack over a server and a database of its own.
    pub(crate) async fn over(nats: &NatsServer) -> Self {
        let mut record_config = RecordConfig::new(nats.url());
        record_config.monitor_url = Some(nats.monitor_url());
        let read_model_config = ReadModelConfig::new(&test::database().await.url);
        let local = "127.0.0.1:0".parse().unwrap();
        let shutdown = Shutdown::new();
        let writer = WriterConfig {
            grpc: GrpcConfig::at(local),
            admin_addr: local,
            record: record_config.clone(),
            read_model: read_model_config.clone(),
            ..WriterConfig::default()
        };
        let writer = writer::start(writer, &shutdown).await.unwrap();
        let read_model = ReadModel::connect_lazy(&read_model_config).unwrap();
        read_model.migrate().await.unwrap();
        let projector = ProjectorConfig {
            admin_addr: local,
            record: record_config.clone(),
            read_model: read_model_config.clone(),
            ..ProjectorConfig::default()
        };
        projector::start(projector, &shutdown).await.unwrap();
        let record = Record::open(record_config.clone()).await.unwrap();
        let registry = Registry::open(&record).await.unwrap();
        let token = populate(&registry).await;
        let mut config = GatewayConfig {
            grpc: GrpcConfig::at(local),
            admin_addr: local,
            record: record_config,
            read_model: read_model_config.into(),
            writer_url: format!("http://{}", writer.grpc_addr),
            writer_token: token,
            models: ModelServersConfig(
                [(SLOW, WORD_DELAY), (MUTE, MUTE_DELAY)].map(|(name, delay)| (name.to_owned(), echo(delay))).into(),
            ),
            egress: egress::EgressConfig::loopback(),
            ..GatewayConfig::default()
        };
        // No gateway ends a run that the machine only delays. Tests of abandoned runs have a stack of their own.
        config.generation.abandoned_after_ms = 20_000;
        Self { record, registry, config, shutdown }
    }

    /// The writer, called under the gateway's token.
    pub(crate) fn writer(&self) -> WriterClient {
        let token = self.config.writer_token.clone();
        WriterClient::at(&self.config.writer_url, token).unwrap()
    }

    /// A new agent with these settings.
    pub(crate) async fn agent(&self, settings: AgentSettings) -> AgentId {
        let agent = AgentId::parse(format!("a-{}", Uuid::now_v7())).unwrap();
        let tenant = TenantId::parse(TENANT).unwrap();
        let registry = &self.registry;
        registry.create_agent(&tenant, &agent, &DisplayName::parse("").unwrap(), Timestamp(0)).await.unwrap();
        let settings = CheckedSettings::parse(settings).unwrap();
        registry.set_agent_settings(&agent, settings).await.unwrap();
        agent
    }
}

/// Lets a gateway end runs without parts soon. Use it on a stack without other tests, after the kill of the gateway that
/// executed the run: it ends every run that has no part for 2 s.
pub(crate) fn abandon_soon(config: &mut GatewayConfig) {
    config.generation.abandoned_after_ms = 2_000;
}

/// The settings of an agent with a model on this server.
pub(crate) fn answered_by(server: &str) -> AgentSettings {
    AgentSettings {
        model: Some(ModelSettings { server: server.to_owned(), model: "m".to_owned(), ..ModelSettings::default() }),
        ..AgentSettings::default()
    }
}

fn echo(word_delay: Duration) -> ModelServerConfig {
    ModelServerConfig {
        kind: ServerKind::Echo,
        echo_word_delay_ms: u64::try_from(word_delay.as_millis()).unwrap(),
        ..ModelServerConfig::default()
    }
}

async fn populate(registry: &Registry) -> Secret {
    let tenant = TenantId::parse(TENANT).unwrap();
    registry.create_tenant(&tenant, &DisplayName::parse("").unwrap(), Timestamp(0)).await.unwrap();
    let new = NewServiceToken {
        display_name: Label::parse("gateway").unwrap(),
        scopes: [Scope::Append, Scope::Read, Scope::Erase].into_iter().collect(),
        tenant: None,
        agents: BTreeSet::new(),
        expires_at: None,
    };
    let (_, secret) = registry.create_service_token(new, Timestamp(0)).await.unwrap();
    Secret::new(secret.reveal())
}
