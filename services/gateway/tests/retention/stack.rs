//! A record, rows, a writer and a projector; agents with rules; and rounds of retention over them.

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use conversations::commands::Commands;
use devstack::{NatsServer, test};
use domain::{AgentId, ConversationId, ConversationKey, DisplayName, Head, Label, Status, TenantId, Timestamp};
use event_log::{Record, RecordConfig};
use gateway::retention::{Dependencies, Limits, ResumePoints, RetentionConfig, RoundError, Tally, round};
use projector::ProjectorConfig;
use read_model::projections::conversations::wait_until_reached;
use read_model::{ReadModel, ReadModelConfig};
use record_access::writer::{WriterClient, WriterService};
use registry::{CheckedSettings, NewServiceToken, Registry, Scope};
use runtime::clock::{Clock, ManualClock};
use runtime::config::Secret;
use runtime::shutdown::Shutdown;
use tokio::time::{Instant, sleep};
use wire::proto::operate::v1::{AgentSettings, RetentionSettings};
use wire::proto::write::v1::write_service_client::WriteServiceClient;
use writer::WriterConfig;

/// The deadline of each wait.
const DEADLINE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(20);

/// The tenant of every agent.
pub(crate) const TENANT: &str = "acme";
/// When the conversations of tests begin, by default.
pub(crate) const START: Timestamp = Timestamp(1_700_000_000 * SECOND);
/// Later than every limit of the tests' rules, and before the conversations were recorded.
pub(crate) const LATE: i64 = START.0 + 100_000 * SECOND;
/// Nanoseconds per second.
pub(crate) const SECOND: i64 = 1_000_000_000;

/// A system with a manual clock for retention. It ends when it is dropped.
pub(crate) struct Stack {
    pub(crate) deps: Dependencies,
    pub(crate) clock: ManualClock,
    pub(crate) record_config: RecordConfig,
    pub(crate) read_model: ReadModelConfig,
    pub(crate) writer_url: String,
    pub(crate) limits: Limits,
    projector: Shutdown,
    writer: Shutdown,
    _nats: NatsServer,
}

impl Stack {
    pub(crate) async fn start() -> Self {
        let database = test::database().await;
        Self::start_with(ReadModelConfig::new(database.url)).await
    }

    /// With these databases. The projector is that of the first one.
    pub(crate) async fn start_with(read_model: ReadModelConfig) -> Self {
        let nats = test::nats().await;
        let mut record_config = RecordConfig::new(nats.url());
        record_config.monitor_url = Some(nats.monitor_url());
        let record = Record::create(record_config.clone()).await.unwrap();
        let registry = Registry::open(&record).await.unwrap();
        let tenant = TenantId::parse(TENANT).unwrap();
        registry.create_tenant(&tenant, &DisplayName::parse("").unwrap(), START).await.unwrap();
        let writer = Shutdown::new();
        let writer_url = start_writer(&record_config, &read_model, &writer).await;
        let clock = ManualClock::at(START.0);
        let token = token(&registry, &[Scope::Append, Scope::Read, Scope::Erase], None).await;
        let deps = Dependencies {
            read_model: ReadModel::connect_lazy(&read_model).unwrap(),
            commands: Commands::new(WriterClient::at(&writer_url, token.clone()).unwrap()),
            token,
            clock: Clock::Manual(clock.clone()),
            record,
            registry,
        };
        let mut stack = Self {
            deps,
            clock,
            record_config,
            read_model,
            writer_url,
            limits: Limits {
                change_every: Duration::from_millis(1),
                rows_wait: DEADLINE,
                ..RetentionConfig::default().limits()
            },
            projector: Shutdown::new(),
            writer,
            _nats: nats,
        };
        stack.start_projector().await;
        stack
    }

    pub(crate) async fn start_projector(&mut self) {
        self.projector = Shutdown::new();
        self.start_projector_of("", &self.projector).await;
    }

    /// Starts a projector of the first database or of a shard.
    pub(crate) async fn start_projector_of(&self, shard: &str, shutdown: &Shutdown) {
        let config = ProjectorConfig {
            admin_addr: "127.0.0.1:0".parse().unwrap(),
            record: self.record_config.clone(),
            read_model: self.read_model.clone(),
            shard: shard.to_owned(),
            ..ProjectorConfig::default()
        };
        Box::pin(projector::start(config, shutdown)).await.unwrap();
    }

    pub(crate) async fn stop_projector(&self) {
        self.projector.begin();
        self.projector.wait(DEADLINE).await.unwrap();
    }

    pub(crate) async fn stop_writer(&self) {
        self.writer.begin();
        self.writer.wait(DEADLINE).await.unwrap();
    }

    /// Creates an agent with these rules.
    pub(crate) async fn agent(&self, name: &str, rules: RetentionSettings) {
        let (tenant, agent) = (TenantId::parse(TENANT).unwrap(), agent_id(name));
        let registry = &self.deps.registry;
        registry.create_agent(&tenant, &agent, &DisplayName::parse("").unwrap(), START).await.unwrap();
        self.set_rules(name, Some(rules)).await;
    }

    pub(crate) async fn set_rules(&self, agent: &str, retention: Option<RetentionSettings>) {
        let settings = CheckedSettings::parse(AgentSettings { retention, ..AgentSettings::default() });
        let registry = &self.deps.registry;
        let agent = agent_id(agent);
        registry.set_agent_settings(&agent, settings.unwrap()).await.unwrap();
    }

    /// The writer, under the gateway's token.
    pub(crate) fn writer(&self) -> WriteServiceClient<WriterService> {
        self.client().write(DEADLINE)
    }

    /// A client of the writer under the gateway's token.
    pub(crate) fn client(&self) -> WriterClient {
        WriterClient::at(&self.writer_url, self.deps.token.clone()).unwrap()
    }

    /// Replaces the gateway's token.
    pub(crate) fn set_token(&mut self, token: Secret) {
        self.deps.token = token;
        self.deps.commands = Commands::new(self.client());
    }

    /// Runs a round without resume points.
    pub(crate) async fn round(&self) -> Tally {
        self.round_from(&mut ResumePoints::default()).await.unwrap()
    }

    pub(crate) async fn round_from(&self, resume_points: &mut ResumePoints) -> Result<Tally, RoundError> {
        round(&self.deps, &self.limits, resume_points).await
    }

    /// The head of a conversation, from the record.
    pub(crate) async fn head(&self, id: &str) -> Head {
        let key = ConversationKey {
            tenant: TenantId::parse(TENANT).unwrap(),
            conversation: ConversationId::parse(id).unwrap(),
        };
        let last = self.deps.record.last_from_leader(&key).await.unwrap();
        last.unwrap().open_head().unwrap()
    }

    /// The conversations of these that are erased.
    pub(crate) async fn erased<'a>(&self, ids: impl IntoIterator<Item = &'a (impl AsRef<str> + 'a)>) -> Vec<&'a str> {
        let mut erased = Vec::new();
        for id in ids {
            if self.head(id.as_ref()).await.status == Status::Erased {
                erased.push(id.as_ref());
            }
        }
        erased
    }

    /// Waits until the rows have reached the end of the record.
    pub(crate) async fn projected(&self) {
        let ends = self.deps.record.ends().await.unwrap();
        let rows = &self.deps.read_model;
        eventually("rows that are not behind", || async {
            let reached = wait_until_reached(rows, &ends, POLL).await;
            reached.ok()?.then_some(())
        })
        .await;
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        self.projector.begin();
        self.writer.begin();
    }
}

async fn start_writer(record: &RecordConfig, read_model: &ReadModelConfig, shutdown: &Shutdown) -> String {
    let mut config = WriterConfig {
        admin_addr: "127.0.0.1:0".parse().unwrap(),
        record: record.clone(),
        read_model: read_model.clone(),
        ..WriterConfig::default()
    };
    config.grpc.addr = "127.0.0.1:0".parse().unwrap();
    let running = Box::pin(writer::start(config, shutdown)).await.unwrap();
    format!("http://{}", running.grpc_addr)
}

/// A token with these scopes, for one tenant or all.
pub(crate) async fn token(registry: &Registry, scopes: &[Scope], tenant: Option<&str>) -> Secret {
    let new = NewServiceToken {
        display_name: Label::parse("gateway").unwrap(),
        scopes: scopes.iter().copied().collect(),
        tenant: tenant.map(|tenant| TenantId::parse(tenant).unwrap()),
        agents: BTreeSet::new(),
        expires_at: None,
    };
    let made = registry.create_service_token(new, START).await;
    Secret::new(made.unwrap().1.reveal())
}

/// Polls `probe` until it returns a value.
pub(crate) async fn eventually<T, F>(what: &str, mut probe: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = probe().await {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: not in time");
        sleep(POLL).await;
    }
}

/// Rules with these limits: messages, conversations per owner, idle seconds; 0: none.
pub(crate) fn rules(messages: u64, per_owner: u32, idle_seconds: u64) -> RetentionSettings {
    RetentionSettings { messages_max: messages, conversations_per_owner_max: per_owner, idle_seconds_max: idle_seconds }
}

fn agent_id(name: &str) -> AgentId {
    AgentId::parse(name).unwrap()
}
