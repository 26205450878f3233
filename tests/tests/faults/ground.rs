//! Two writers, two projectors, a gateway, NATS and Postgres, as real processes: killed, frozen and started again.

use std::path::PathBuf;

use event_log::Record;
use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use rustix::process::Signal;
use tests::agent::Agent;
use tests::checker::{self, Row};
use tests::client::Caller;
use tests::node::Node;
use tests::settings::{self, Role, Settings};
use tests::stack::{Setup, Stack};
use tokio::sync::{Mutex, MutexGuard};
use wire::token::RecordId;

pub(crate) const TENANT: &str = "acme";
pub(crate) const AGENT: &str = "support";

/// How long a projector's lease holds: short, so that tests of its loss are.
const LEASE_TTL_MS: u64 = 1_500;
/// The workload's runs have no gateway that gives signs of life for them, and finish by the workload's own commands. What a
/// gateway's sweeper ended or finished in an outage would be asked for by nobody, so it looks less often than any lasts.
const ABANDONED_AFTER_MS: u64 = 600_000;
const SWEEP_EVERY_MS: u64 = 60_000;

/// One test at a time: each wants the whole machine, and their limits of time are for that.
static MACHINE: Mutex<()> = Mutex::const_new(());

/// What a fault befalls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Victim {
    /// One of the writers; the other goes on.
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

impl Victim {
    fn has_nats(self) -> bool {
        matches!(self, Self::Nats | Self::Everything)
    }

    fn has_postgres(self) -> bool {
        matches!(self, Self::Postgres | Self::Everything)
    }

    /// Whether it befalls the role that `role` befalls, beside others or not.
    fn befalls(self, role: Self) -> bool {
        let whole = match role {
            Self::Writer => Self::Writers,
            Self::Projector => Self::Projectors,
            Self::Writers
            | Self::Projectors
            | Self::Gateway
            | Self::Nats
            | Self::Postgres
            | Self::Everything => role,
        };
        [role, whole, Self::Everything].contains(&self)
    }
}

/// A system to ill-treat. Dropped, all of it ends.
#[derive(Debug)]
pub(crate) struct Ground {
    pub(crate) second_writer: Node,
    pub(crate) second_projector: Node,
    pub(crate) stack: Stack,
    pub(crate) agent: Agent,
    pub(crate) record_id: RecordId,
    // Last: the machine is free once everything has ended.
    _turn: MutexGuard<'static, ()>,
}

/// The servers of a ground, and roles that do not run yet: the time to change their settings.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) stack: Stack,
    turn: MutexGuard<'static, ()>,
}

impl Prepared {
    /// Waits for its turn, and starts the servers.
    pub(crate) async fn of(setup: Setup) -> Self {
        let turn = MACHINE.lock().await;
        let mut stack = setup.prepare().await;
        for role in [&mut stack.writer, &mut stack.projector, &mut stack.gateway] {
            role.settings.projector.lease_ttl_ms = LEASE_TTL_MS;
            let generation = &mut role.settings.gateway.generation;
            generation.abandoned_after_ms = ABANDONED_AFTER_MS;
            generation.sweep_every_ms = SWEEP_EVERY_MS;
        }
        Self { stack, turn }
    }

    /// Changes the settings of every role.
    pub(crate) fn change(&mut self, mut change: impl FnMut(&mut Settings)) {
        let stack = &mut self.stack;
        for role in [&mut stack.writer, &mut stack.projector, &mut stack.gateway] {
            change(&mut role.settings);
        }
    }

    /// Starts all roles. Boxed, for it is large.
    pub(crate) fn start(self) -> BoxFuture<'static, Ground> {
        self.start_all().boxed()
    }

    async fn start_all(mut self) -> Ground {
        self.stack.start().await;
        let mut second_writer = self.stack.another(Role::Writer);
        let mut second_projector = self.stack.another(Role::Projector);
        join_all([&mut second_writer, &mut second_projector].map(started)).await;
        let agent = self.stack.agent(TENANT, AGENT).await;
        let record = Record::open(settings::record(&self.stack.servers)).await;
        Ground {
            second_writer,
            second_projector,
            stack: self.stack,
            agent,
            record_id: record.expect("a record").id(),
            _turn: self.turn,
        }
    }
}

impl Ground {
    /// Starts everything; all of it is ready then. Boxed, for it is large.
    pub(crate) fn start() -> BoxFuture<'static, Self> {
        Self::on(Self::setup())
    }

    /// As [`Ground::start`], on other servers than the usual ones.
    pub(crate) fn on(setup: Setup) -> BoxFuture<'static, Self> {
        Prepared::of(setup).then(Prepared::start).boxed()
    }

    /// One nats-server and one Postgres, both the test's own.
    pub(crate) fn setup() -> Setup {
        Setup::processes(tests::program!()).with_own_postgres()
    }

    /// A caller for each writer.
    pub(crate) fn callers(&self) -> Vec<Caller> {
        let first = self.agent.caller().clone();
        let second = first.with_writer(&self.second_writer.grpc_url());
        vec![first, second]
    }

    /// The rows of a query of the test's database, whose one column is a JSON object.
    pub(crate) async fn query(&mut self, sql: &str) -> Vec<Row> {
        let (psql, url) = self.psql();
        checker::query(&psql, &url, sql).await.expect("rows")
    }

    /// Postgres's own client, and the URL of the test's database.
    pub(crate) fn psql(&mut self) -> (PathBuf, String) {
        let servers = &mut self.stack.servers;
        (
            servers.postgres_mut().tool("psql"),
            servers.database_url().to_owned(),
        )
    }

    /// The record, over a connection of its own.
    pub(crate) async fn record(&self) -> Record {
        Record::open(settings::record(&self.stack.servers))
            .await
            .expect("a record")
    }

    /// Kills with -9.
    pub(crate) fn kill(&mut self, victim: Victim) {
        if victim.has_nats() {
            self.stack.servers.nats_mut().kill();
        }
        if victim.has_postgres() {
            self.stack.servers.postgres_mut().kill();
        }
        self.roles_of(victim).for_each(Node::kill);
    }

    /// Freezes: connections stay open, and nothing answers.
    pub(crate) fn freeze(&mut self, victim: Victim) {
        if victim.has_nats() {
            self.stack.servers.nats_mut().pause();
        }
        if victim.has_postgres() {
            self.stack.servers.postgres_mut().pause();
        }
        self.signal(victim, Signal::STOP);
    }

    /// Undoes [`Ground::freeze`].
    pub(crate) fn thaw(&mut self, victim: Victim) {
        if victim.has_nats() {
            self.stack.servers.nats_mut().resume();
        }
        if victim.has_postgres() {
            self.stack.servers.postgres_mut().resume();
        }
        self.signal(victim, Signal::CONT);
    }

    fn signal(&mut self, victim: Victim, signal: Signal) {
        for role in self.roles_of(victim) {
            role.process().expect("a running process").signal(signal);
        }
    }

    fn roles(&mut self) -> [(Victim, &mut Node); 5] {
        [
            (Victim::Writer, &mut self.stack.writer),
            (Victim::Writers, &mut self.second_writer),
            (Victim::Projector, &mut self.stack.projector),
            (Victim::Projectors, &mut self.second_projector),
            (Victim::Gateway, &mut self.stack.gateway),
        ]
    }

    fn roles_of(&mut self, victim: Victim) -> impl Iterator<Item = &mut Node> {
        let roles = self.roles().into_iter();
        roles
            .filter(move |(role, _)| victim.befalls(*role))
            .map(|(_, role)| role)
    }

    /// Starts again what was killed; returns when it is ready.
    pub(crate) async fn revive(&mut self, victim: Victim) {
        let servers = &mut self.stack.servers;
        if victim.has_nats() {
            servers.nats_mut().restart().await.expect("NATS again");
        }
        if victim.has_postgres() {
            servers
                .postgres_mut()
                .restart()
                .await
                .expect("Postgres again");
        }
        // Servers are first: a role that starts without them ends.
        let killed = self.roles_of(victim).filter(|role| !role.is_started());
        join_all(killed.map(started)).await;
    }
}

/// Starts a role. Boxed, for it is large.
fn started(role: &mut Node) -> BoxFuture<'_, ()> {
    role.start().boxed()
}
