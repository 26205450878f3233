//! Two writers, two projectors, a gateway, NATS and Postgres as real processes, with kill, freeze and restart.

use std::path::PathBuf;

use event_log::Record;
use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use rustix::process::Signal;
use tests::admin;
use tests::agent::Agent;
use tests::checker::{self, Row};
use tests::client::Caller;
use tests::eventually::eventually;
use tests::node::Node;
use tests::settings::{self, Role};
use tests::stack::{Setup, Stack};
use tokio::sync::{Mutex, MutexGuard};
use wire::token::RecordId;

pub(crate) const TENANT: &str = "acme";
pub(crate) const AGENT: &str = "support";
/// The tenant of conversations beside the load, which its journal does not contain.
pub(crate) const OTHER_TENANT: &str = "beside";

/// The duration of a projector's lease: short, to keep tests of its loss short.
const LEASE_TTL_MS: u64 = 1_500;
/// The workload's runs have no gateway that keeps them alive, and end with the workload's own commands. A gateway's
/// sweeper must not end or finish them in an outage, because nobody requested that; so its interval, a third of this, is
/// longer than any outage.
const ABANDONED_AFTER_MS: u64 = 600_000;

/// Only one test runs at a time: each needs the whole machine for its time limits.
static MACHINE: Mutex<()> = Mutex::const_new(());

/// The target of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultTarget {
    /// One of the writers; the other continues.
    Writer,
    /// All of the writers.
    Writers,
    /// One of the projectors.
    Projector,
    /// All of the projectors.
    Projectors,
    /// The gateway.
    Gateway,
    /// The nats-server.
    Nats,
    /// Postgres.
    Postgres,
    /// Every process at once.
    Everything,
}

impl FaultTarget {
    fn has_nats(self) -> bool {
        matches!(self, Self::Nats | Self::Everything)
    }

    fn has_postgres(self) -> bool {
        matches!(self, Self::Postgres | Self::Everything)
    }

    /// Whether a fault of this target affects the role of `role`, alone or with others.
    fn affects(self, role: Self) -> bool {
        let whole = match role {
            Self::Writer => Self::Writers,
            Self::Projector => Self::Projectors,
            Self::Writers | Self::Projectors | Self::Gateway | Self::Nats | Self::Postgres | Self::Everything => role,
        };
        [role, whole, Self::Everything].contains(&self)
    }
}

/// Callers besides those of the usual load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Crowd {
    None,
    /// So many callers append to one partition that its commits are published in batches.
    OfOnePartition,
    /// The same on several replicas, where more commits are published alone.
    OfReplicatedPartition,
}

impl Crowd {
    /// Each of two writers has more commits in flight than it publishes alone, and enough others for a batch.
    pub(crate) const fn callers(self) -> usize {
        match self {
            Self::None => 0,
            Self::OfOnePartition => 128,
            Self::OfReplicatedPartition => 640,
        }
    }
}

/// A system for faults. It ends when dropped.
#[derive(Debug)]
pub(crate) struct Fixture {
    pub(crate) second_writer: Node,
    pub(crate) second_projector: Node,
    pub(crate) stack: Stack,
    pub(crate) agent: Agent,
    pub(crate) record_id: RecordId,
    pub(crate) crowd: Crowd,
    // The last field: the lock is released after everything has ended.
    _turn: MutexGuard<'static, ()>,
}

/// The servers of a fixture without roles, so that settings can be changed.
#[derive(Debug)]
pub(crate) struct PreparedFixture {
    pub(crate) stack: Stack,
    turn: MutexGuard<'static, ()>,
}

impl PreparedFixture {
    /// Waits for the lock, and starts the servers.
    pub(crate) async fn of(setup: Setup) -> Self {
        let turn = MACHINE.lock().await;
        let mut stack = setup.prepare().await;
        stack.change(|settings| {
            settings.projector.lease_ttl_ms = LEASE_TTL_MS;
            settings.gateway.generation.abandoned_after_ms = ABANDONED_AFTER_MS;
        });
        Self { stack, turn }
    }

    /// Starts all roles. Boxed, because the future is large.
    pub(crate) fn start(self) -> BoxFuture<'static, Fixture> {
        self.start_all().boxed()
    }

    async fn start_all(mut self) -> Fixture {
        self.stack.start().await;
        let mut second_writer = self.stack.another(Role::Writer);
        let mut second_projector = self.stack.another(Role::Projector);
        join_all([&mut second_writer, &mut second_projector].map(start_node)).await;
        let agent = self.stack.agent(TENANT, AGENT).await;
        let record = Record::open(settings::record(&self.stack.servers)).await;
        Fixture {
            second_writer,
            second_projector,
            stack: self.stack,
            agent,
            record_id: record.expect("a record").id(),
            crowd: Crowd::None,
            _turn: self.turn,
        }
    }
}

impl Fixture {
    /// Starts everything and waits until it is ready. Boxed, because the future is large.
    pub(crate) fn start() -> BoxFuture<'static, Self> {
        Self::on(Self::setup())
    }

    /// As [`Fixture::start`], with other servers.
    pub(crate) fn on(setup: Setup) -> BoxFuture<'static, Self> {
        PreparedFixture::of(setup).then(PreparedFixture::start).boxed()
    }

    /// One nats-server and one Postgres of the test.
    pub(crate) fn setup() -> Setup {
        Setup::processes(tests::program!()).with_own_postgres()
    }

    /// With a crowd in the load.
    pub(crate) fn crowded(self) -> Self {
        Self { crowd: Crowd::OfOnePartition, ..self }
    }

    /// The number of batches that the writers have published since their start.
    pub(crate) async fn batches(&self) -> u64 {
        let mut batches = 0;
        for writer in [&self.stack.writer, &self.second_writer] {
            let page = admin::get(writer.admin_addr(), "/metrics").await.expect("metrics").body;
            let mut lines = page.lines();
            let count = lines.find_map(|line| line.strip_prefix("hansard_append_batch_commits_count "));
            batches += count.map_or(0, |count| count.parse::<u64>().expect("a count"));
        }
        batches
    }

    /// A caller for each writer.
    pub(crate) fn callers(&self) -> Vec<Caller> {
        let first = self.agent.caller().clone();
        let second = first.with_writer(&self.second_writer.grpc_url());
        vec![first, second]
    }

    /// The writers.
    pub(crate) fn writers(&mut self) -> [&mut Node; 2] {
        [&mut self.stack.writer, &mut self.second_writer]
    }

    /// Starts the gateway again, with both writers.
    pub(crate) async fn use_both_writers(&mut self) {
        let urls = self.writers().map(|writer| writer.grpc_url()).join(",");
        let gateway = &mut self.stack.gateway;
        gateway.stop().await;
        gateway.settings.gateway.writer_url = urls;
        start_node(gateway).await;
    }

    /// The rows of a query of the test's database with one JSON column.
    pub(crate) async fn query(&mut self, sql: &str) -> Vec<Row> {
        let (psql, url) = self.psql();
        checker::query(&psql, &url, sql).await.expect("rows")
    }

    /// The path of `psql`, and the URL of the test's database.
    pub(crate) fn psql(&mut self) -> (PathBuf, String) {
        let servers = &mut self.stack.servers;
        (servers.postgres_mut().tool("psql"), servers.database_url().to_owned())
    }

    /// The record, with a new connection. Servers that elect a leader may not answer in time.
    pub(crate) async fn record(&self) -> Record {
        let settings = settings::record(&self.stack.servers);
        Box::pin(eventually("a record", || async { Record::open(settings.clone()).await.ok() })).await
    }

    /// Kills with -9.
    pub(crate) fn kill(&mut self, target: FaultTarget) {
        if target.has_nats() {
            self.stack.servers.nats_mut().kill();
        }
        if target.has_postgres() {
            self.stack.servers.postgres_mut().kill();
        }
        self.roles_of(target).for_each(Node::kill);
    }

    /// Freezes processes: connections stay open, without answers.
    pub(crate) fn freeze(&mut self, target: FaultTarget) {
        if target.has_nats() {
            self.stack.servers.nats_mut().pause();
        }
        if target.has_postgres() {
            self.stack.servers.postgres_mut().pause();
        }
        self.signal(target, Signal::STOP);
    }

    /// Undoes [`Fixture::freeze`].
    pub(crate) fn resume(&mut self, target: FaultTarget) {
        if target.has_nats() {
            self.stack.servers.nats_mut().resume();
        }
        if target.has_postgres() {
            self.stack.servers.postgres_mut().resume();
        }
        self.signal(target, Signal::CONT);
    }

    fn signal(&mut self, target: FaultTarget, signal: Signal) {
        for role in self.roles_of(target) {
            role.process().expect("a running process").signal(signal);
        }
    }

    fn roles(&mut self) -> [(FaultTarget, &mut Node); 5] {
        [
            (FaultTarget::Writer, &mut self.stack.writer),
            (FaultTarget::Writers, &mut self.second_writer),
            (FaultTarget::Projector, &mut self.stack.projector),
            (FaultTarget::Projectors, &mut self.second_projector),
            (FaultTarget::Gateway, &mut self.stack.gateway),
        ]
    }

    /// All processes in the order of an upgrade: projectors migrate, and a gateway may send what an older writer ignores.
    pub(crate) fn processes(&mut self) -> [&mut Node; 5] {
        [
            &mut self.stack.projector,
            &mut self.second_projector,
            &mut self.stack.writer,
            &mut self.second_writer,
            &mut self.stack.gateway,
        ]
    }

    fn roles_of(&mut self, target: FaultTarget) -> impl Iterator<Item = &mut Node> {
        let roles = self.roles().into_iter();
        roles.filter(move |(role, _)| target.affects(*role)).map(|(_, role)| role)
    }

    /// Starts killed processes, and waits until they are ready.
    pub(crate) async fn restart(&mut self, target: FaultTarget) {
        let servers = &mut self.stack.servers;
        if target.has_nats() {
            servers.nats_mut().restart().await.expect("NATS again");
        }
        if target.has_postgres() {
            servers.postgres_mut().restart().await.expect("Postgres again");
        }
        // Servers are started first: a role without them ends.
        let killed = self.roles_of(target).filter(|role| !role.is_started());
        join_all(killed.map(start_node)).await;
    }
}

/// Starts a role. Boxed, because the future is large.
fn start_node(role: &mut Node) -> BoxFuture<'_, ()> {
    role.start().boxed()
}
