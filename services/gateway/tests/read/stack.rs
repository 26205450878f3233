//! Servers, a registry and a gateway for tests.

use std::collections::BTreeSet;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::Duration;

use devstack::{NatsServer, test};
use domain::{AgentId, DisplayName, Label, TenantId, Timestamp};
use event_log::{Record, RecordConfig};
use gateway::GatewayConfig;
use http_listener::config::HttpSection;
use read_model::{ReadModel, ReadModelConfig};
use registry::{NewServiceToken, Registry, Scope};
use runtime::grpc::GrpcConfig;
use runtime::http::HttpConfig;
use runtime::shutdown::Shutdown;
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

use crate::client::Client;
use crate::projection::Projection;

/// The tenant with the conversations and two of its agents; another tenant with an agent.
pub(crate) const TENANT: &str = "acme";
pub(crate) const AGENT: &str = "helper";
pub(crate) const OTHER_AGENT: &str = "seller";
pub(crate) const FOREIGN_TENANT: &str = "globex";
pub(crate) const FOREIGN_AGENT: &str = "spy";

static RUNTIME: OnceLock<Runtime> = OnceLock::new();
static SHARED: OnceCell<Stack> = OnceCell::const_new();

/// A record, rows, and a gateway over both.
pub(crate) struct Stack {
    pub(crate) record: Record,
    pub(crate) registry: Registry,
    pub(crate) projection: Projection,
    pub(crate) config: GatewayConfig,
    /// A token that may read every tenant.
    pub(crate) token: String,
    pub(crate) client: Client,
    /// Ends the gateway.
    pub(crate) shutdown: Shutdown,
}

/// Runs a test in the shared runtime: shared connections need it.
pub(crate) fn run(test: impl Future<Output = ()>) {
    let runtime = RUNTIME.get_or_init(|| Runtime::new().unwrap());
    runtime.block_on(async {
        tokio::time::timeout(Duration::from_mins(2), test).await.expect("the test ends in time");
    });
}

/// The stack of all tests that do not stop its servers.
pub(crate) async fn shared() -> &'static Stack {
    SHARED
        .get_or_init(async || {
            // Never dropped: its watchdog stops it when the process ends.
            let nats = Box::leak(Box::new(test::nats().await));
            let database = test::database().await;
            Box::pin(Stack::over(nats, &database.url)).await
        })
        .await
}

impl Stack {
    /// A stack over these servers.
    pub(crate) async fn over(nats: &NatsServer, database_url: &str) -> Self {
        let mut record_config = RecordConfig::new(nats.url());
        record_config.monitor_url = Some(nats.monitor_url());
        let record = Record::create(record_config.clone()).await.unwrap();
        let registry = Registry::open(&record).await.unwrap();
        let read_model_config = ReadModelConfig::new(database_url);
        let read_model = ReadModel::connect_lazy(&read_model_config).unwrap();
        read_model.migrate().await.unwrap();
        let token = populate(&registry).await;
        let config = GatewayConfig {
            grpc: GrpcConfig::at("127.0.0.1:0".parse().unwrap()),
            http: HttpSection { server: HttpConfig::default(), ..HttpSection::default() },
            admin_addr: "127.0.0.1:0".parse().unwrap(),
            record: record_config,
            read_model: read_model_config.into(),
            fence_wait_ms: 300,
            watchers_max: 64,
            watch_idle_check_ms: 500,
            ..GatewayConfig::default()
        };
        let shutdown = Shutdown::new();
        Self {
            projection: Projection::new(&record, &read_model).await,
            client: Box::pin(start(&config, &shutdown, &token)).await,
            record,
            registry,
            config,
            token,
            shutdown,
        }
    }

    /// Another gateway over the same servers, with changes to its configuration.
    pub(crate) async fn gateway_with(&self, change: impl FnOnce(&mut GatewayConfig)) -> (Client, Shutdown) {
        let mut config = self.config.clone();
        change(&mut config);
        let shutdown = Shutdown::new();
        (start(&config, &shutdown, &self.token).await, shutdown)
    }

    /// The HTTP listener of another gateway over the same servers, with changes to its configuration.
    pub(crate) async fn http_with(&self, change: impl FnOnce(&mut GatewayConfig)) -> (SocketAddr, Shutdown) {
        let mut config = self.config.clone();
        change(&mut config);
        let shutdown = Shutdown::new();
        let running = gateway::start(config, &shutdown).await.unwrap();
        (running.http_addr, shutdown)
    }

    /// A token with these scopes, for one tenant or all.
    pub(crate) async fn token(&self, scopes: &[Scope], tenant: Option<&str>) -> String {
        make_token(&self.registry, scopes, tenant).await
    }
}

async fn start(config: &GatewayConfig, shutdown: &Shutdown, token: &str) -> Client {
    let running = gateway::start(config.clone(), shutdown).await.unwrap();
    Client::connect(running.grpc_addr, token)
}

async fn populate(registry: &Registry) -> String {
    let agents = [(TENANT, vec![AGENT, OTHER_AGENT]), (FOREIGN_TENANT, vec![FOREIGN_AGENT])];
    for (tenant, agents) in agents {
        let tenant = TenantId::parse(tenant).unwrap();
        registry.create_tenant(&tenant, &DisplayName::parse("").unwrap(), Timestamp(0)).await.unwrap();
        for agent in agents {
            let agent = AgentId::parse(agent).unwrap();
            registry.create_agent(&tenant, &agent, &DisplayName::parse("").unwrap(), Timestamp(0)).await.unwrap();
        }
    }
    make_token(registry, &[Scope::Read], None).await
}

async fn make_token(registry: &Registry, scopes: &[Scope], tenant: Option<&str>) -> String {
    let new = NewServiceToken {
        display_name: Label::parse("test").unwrap(),
        scopes: scopes.iter().copied().collect(),
        tenant: tenant.map(|tenant| TenantId::parse(tenant).unwrap()),
        agents: BTreeSet::new(),
        expires_at: None,
    };
    let (_, secret) = registry.create_service_token(new, Timestamp(0)).await.unwrap();
    secret.reveal().to_owned()
}
