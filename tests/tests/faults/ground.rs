//! Two writers, two projectors, a gateway, NATS and Postgres, as real processes: killed, frozen and started again.

use std::path::PathBuf;

use event_log::Record;
use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use tests::agent::Agent;
use tests::checker::{self, Row};
use tests::client::Caller;
use tests::node::Node;
use tests::settings::{self, Role};
use tests::stack::{Setup, Stack};
use tokio::sync::{Mutex, MutexGuard};
use wire::token::RecordId;

pub(crate) const TENANT: &str = "acme";
pub(crate) const AGENT: &str = "support";

/// How long a projector's lease holds: short, so that tests of its loss are.
const LEASE_TTL_MS: u64 = 1_500;

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

impl Ground {
    /// Starts everything; all of it is ready then. Boxed, for it is large.
    pub(crate) fn start() -> BoxFuture<'static, Self> {
        Self::start_all().boxed()
    }

    async fn start_all() -> Self {
        let turn = MACHINE.lock().await;
        let setup = Setup::processes(tests::program!()).with_own_postgres();
        let mut stack = setup.prepare().await;
        stack.projector.settings.projector.lease_ttl_ms = LEASE_TTL_MS;
        stack.start().await;
        let mut second_writer = stack.another(Role::Writer);
        let mut second_projector = stack.another(Role::Projector);
        second_projector.settings.projector.lease_ttl_ms = LEASE_TTL_MS;
        join_all([&mut second_writer, &mut second_projector].map(started)).await;
        let agent = stack.agent(TENANT, AGENT).await;
        let record = Record::open(settings::record(&stack.servers))
            .await
            .expect("a record");
        Self {
            second_writer,
            second_projector,
            stack,
            agent,
            record_id: record.id(),
            _turn: turn,
        }
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
        let servers = &mut self.stack.servers;
        match victim {
            Victim::Writer => self.stack.writer.kill(),
            Victim::Projector => self.stack.projector.kill(),
            Victim::Gateway => self.stack.gateway.kill(),
            Victim::Nats => servers.nats_mut().kill(),
            Victim::Postgres => servers.postgres_mut().kill(),
            Victim::Writers => {
                self.stack.writer.kill();
                self.second_writer.kill();
            }
            Victim::Projectors => {
                self.stack.projector.kill();
                self.second_projector.kill();
            }
            Victim::Everything => {
                let all = [
                    Victim::Nats,
                    Victim::Writers,
                    Victim::Postgres,
                    Victim::Projectors,
                    Victim::Gateway,
                ];
                for victim in all {
                    self.kill(victim);
                }
            }
        }
    }

    /// Starts again what was killed; returns when it is ready.
    pub(crate) async fn revive(&mut self, victim: Victim) {
        let servers = &mut self.stack.servers;
        if matches!(victim, Victim::Nats | Victim::Everything) {
            servers.nats_mut().restart().await.expect("NATS again");
        }
        if matches!(victim, Victim::Postgres | Victim::Everything) {
            servers
                .postgres_mut()
                .restart()
                .await
                .expect("Postgres again");
        }
        // Only what was killed is not started; servers are first, for a role ends without them.
        let roles = [
            &mut self.stack.writer,
            &mut self.second_writer,
            &mut self.stack.projector,
            &mut self.second_projector,
            &mut self.stack.gateway,
        ];
        join_all(
            roles
                .into_iter()
                .filter(|role| !role.is_started())
                .map(started),
        )
        .await;
    }
}

/// Starts a role. Boxed, for it is large.
fn started(role: &mut Node) -> BoxFuture<'_, ()> {
    role.start().boxed()
}
