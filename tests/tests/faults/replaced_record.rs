//! The record is replaced under running roles: by an older copy, by another record, or by none.
//!
//! From then on nothing is acknowledged, and nothing is answered, until the right record is back or an operator has decided.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use devstack::{NatsConfig, NatsServer};
use read_model::ReadModelConfig;
use serde_json::{Value, json};
use tempfile::TempDir;
use tests::client::Caller;
use tests::errors::Failure;
use tests::events::user;
use tests::eventually::eventually;
use tests::folder::copy;
use tests::operator::Operator;
use tests::program::CommandOutput;
use tests::settings::Role;
use wire::proto::read::v1 as read;
use wire::proto::read::v1::list_conversations_request::Filter;

use crate::fixture::{AGENT, FaultTarget, Fixture, TENANT};
use crate::table::{Row, add};

const TITLE: &str = "the record replaced by an older copy, another record and none, under running roles";
/// The reason of refused calls.
const DIVERGED: &str = "RECORD_DIVERGED";
/// Conversations of the other record.
const OTHERS: usize = 24;

/// A running system, and copies of the folder of its nats-server.
struct Drill {
    fixture: Fixture,
    /// The folder of the nats-server.
    nats: TempDir,
    copies: TempDir,
}

/// What replaces the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Replacement {
    /// A copy from before the last commits.
    Older,
    /// A record of another deployment.
    Other,
    /// Nothing.
    Empty,
}

impl Drill {
    async fn start() -> Self {
        let nats = tempfile::tempdir().expect("a folder");
        let setup = Fixture::setup().with_nats(vec![NatsConfig::new(nats.path())]);
        Self { fixture: Fixture::on(setup).await, nats, copies: tempfile::tempdir().expect("a folder") }
    }

    fn copy_of(&self, name: &str) -> PathBuf {
        self.copies.path().join(name)
    }

    /// Copies the streams under a name, and starts the nats-server again.
    async fn keep(&mut self, name: &str) {
        self.fixture.kill(FaultTarget::Nats);
        let kept = self.copy_of(name);
        if kept.exists() {
            // Files that are gone since would be read as a part of the record.
            fs::remove_dir_all(&kept).expect("an earlier copy");
        }
        copy(&self.nats.path().join("store"), &kept).expect("a copy");
        self.fixture.restart(FaultTarget::Nats).await;
    }

    /// Replaces the streams by those of a copy, or by none.
    async fn replace(&mut self, name: Option<&str>) {
        self.fixture.kill(FaultTarget::Nats);
        let store = self.nats.path().join("store");
        fs::remove_dir_all(&store).expect("a store");
        if let Some(name) = name {
            copy(&self.copy_of(name), &store).expect("a copy");
        }
        self.fixture.restart(FaultTarget::Nats).await;
    }

    /// A record of another writer, which also knows the tenant and the agent.
    async fn make_other(&mut self) {
        let folder = tempfile::tempdir().expect("a folder");
        let server = NatsServer::start(NatsConfig::new(folder.path()), &devstack::quiet).await.expect("a nats-server");
        let postgres = self.fixture.stack.servers.postgres_mut();
        postgres.create_database("other").await.expect("a database");
        let database = postgres.database_url("other");
        let mut writer = self.fixture.stack.another(Role::Writer);
        writer.settings.writer.record.nats_url = server.url();
        writer.settings.writer.read_model = ReadModelConfig::new(&database);
        writer.start().await;
        let variables = variables(&server.url(), &database);
        let token = tests::program!().run(["bootstrap", "--name", "other"], &variables).await.stdout;
        let operator = Operator::new(Caller::new(&writer.grpc_url(), &writer.grpc_url(), token.trim()));
        let agent = operator.agent(TENANT, AGENT).await;
        for number in 0..OTHERS {
            agent.create(&format!("other-{number}")).await;
        }
        writer.stop().await;
        drop(server);
        copy(&folder.path().join("store"), &self.copy_of("other")).expect("a copy");
    }

    async fn run(&self, line: &str) -> CommandOutput {
        let servers = &self.fixture.stack.servers;
        let variables = variables(&servers.nats().url(), servers.database_url());
        tests::program!().run(line.split_whitespace(), &variables).await
    }

    async fn lines(&self, line: &str) -> Vec<Value> {
        let ended = self.run(line).await;
        assert_eq!(ended.code, Some(0), "{line}: {ended:?}");
        ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// Whether all calls are refused with the reason. None may succeed.
    async fn are_refused(&self) -> bool {
        let agent = &self.fixture.agent;
        let (appended, created, read, context) = tokio::join!(
            agent.try_append(agent.append_request("changed", vec![user("too late")])),
            agent.try_create(agent.create_request("too-late")),
            agent.try_get(agent.read_target("changed")),
            agent.try_context(agent.read_target("changed"), 10),
        );
        let (appended, created) = (appended.map(drop), created.map(drop));
        let (read, context) = (read.map(drop), context.map(drop));
        let mut reasons = Vec::new();
        for (call, outcome) in [("append", appended), ("create", created), ("read", read), ("context", context)] {
            let failure = outcome.expect_err(call);
            reasons.push(Failure::from(failure).reason);
        }
        // Rows alone: they answer as before until they were compared.
        let eventual = agent.try_get(agent.eventual_target("changed")).await;
        let filter = Filter::WholeAgent(read::WholeAgent {});
        let listed = agent.try_conversations(agent.conversations_request(filter)).await;
        let rows = [eventual.map(drop), listed.map(drop)]
            .map(|outcome| outcome.err().map(|error| Failure::from(error).reason));
        reasons.extend(rows.into_iter().flatten());
        reasons.len() == 6 && reasons.iter().all(|reason| reason == DIVERGED)
    }

    /// Returns the time until all calls were refused.
    async fn check_refused(&mut self, replacement: Replacement) -> Duration {
        let began = Instant::now();
        eventually(&format!("a refusal of {replacement:?}"), || async {
            Box::pin(self.are_refused()).await.then_some(())
        })
        .await;
        let refused_after = began.elapsed();
        let status = self.run("status --no-roles").await;
        assert_eq!(status.code, Some(6), "{replacement:?}: {status:?}");
        if replacement == Replacement::Empty {
            assert!(status.stdout.contains("the stream HANSARD_0 is missing"), "{status:?}");
        } else {
            assert!(status.stdout.contains("rows and record do not belong together"), "{status:?}");
        }
        self.check_start_refused(replacement).await;
        refused_after
    }

    /// A writer that is started again ends, and creates nothing.
    async fn check_start_refused(&self, replacement: Replacement) {
        let writer = self.fixture.stack.another(Role::Writer);
        let variables = writer.settings.variables_of(Role::Writer);
        let ended = tests::program!().run(["writer"], &variables).await;
        assert_eq!(ended.code, Some(1), "{replacement:?}: {ended:?}");
        let expected = match replacement {
            Replacement::Empty => "NATS has no record, but the database has rows of one",
            Replacement::Older | Replacement::Other => "rows and record do not belong together",
        };
        assert!(ended.stderr.contains(expected), "{replacement:?}: {ended:?}");
        if replacement == Replacement::Empty {
            let ended = self.run("bootstrap --name late").await;
            assert_eq!(ended.code, Some(1), "{ended:?}");
            assert!(ended.stderr.contains(expected), "{ended:?}");
        }
    }

    /// Everything works as before, without a restart.
    async fn check_back(&self, version: u64) {
        let agent = &self.fixture.agent;
        let append = || agent.try_append(agent.append_request("changed", vec![user("again")]));
        let appended = eventually("an append", || async { append().await.ok() }).await;
        assert_eq!(appended.version, version + 1);
        // The gateway compares rows and record by itself, and may be later than the writer.
        let read = || agent.try_get(agent.read_target("changed"));
        let read = eventually("a read", || async { read().await.ok() }).await;
        assert_eq!(read.conversation.expect("a conversation").version, version + 1);
        agent.wait_for_rows("changed", version + 1).await;
    }
}

fn variables(nats: &str, database: &str) -> Vec<(String, String)> {
    let variables = [("HANSARD_RECORD__NATS_URL", nats), ("HANSARD_READ_MODEL__DATABASE_URL", database)];
    variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_record_is_refused_until_an_operator_decides() {
    let mut drill = Box::pin(Drill::start()).await;
    let agent = drill.fixture.agent.clone();
    for conversation in ["kept", "changed", "erased"] {
        agent.create(conversation).await;
        agent.append(conversation, vec![user("before")]).await;
    }
    agent.wait_for_rows("erased", 2).await;
    drill.keep("older").await;
    drill.make_other().await;
    let append = || agent.try_append(agent.append_request("changed", vec![user("acknowledged")]));
    eventually("an append", || async { append().await.ok() }).await;
    agent.create("lost").await;
    agent.try_erase(agent.target("erased")).await.expect("an erasure");
    agent.wait_for_rows("changed", 3).await;
    agent.wait_for_rows("lost", 1).await;
    let is_erased = || async { agent.try_get(agent.eventual_target("erased")).await.is_err().then_some(()) };
    eventually("an erased row", is_erased).await;

    let (mut version, mut refused_after) = (3, Duration::ZERO);
    for replacement in [Replacement::Older, Replacement::Other, Replacement::Empty] {
        drill.keep("current").await;
        drill
            .replace(match replacement {
                Replacement::Older => Some("older"),
                Replacement::Other => Some("other"),
                Replacement::Empty => None,
            })
            .await;
        refused_after = refused_after.max(Box::pin(drill.check_refused(replacement)).await);
        drill.replace(Some("current")).await;
        drill.check_back(version).await;
        version += 1;
    }
    Box::pin(check_decision(&mut drill, version)).await;
    let besides = format!(
        "longest time until every call was refused by that reason, with the reconnect, ms: {}",
        refused_after.as_millis()
    );
    add(TITLE, Row { strikes: "4".to_owned(), findings: "0".to_owned(), besides, ..Row::default() });
}

/// An operator decides for the older record.
async fn check_decision(drill: &mut Drill, version: u64) {
    drill.replace(Some("older")).await;
    let expected = json!([
        {"tenantId": TENANT, "conversationId": "changed", "rowsVersion": version, "recordVersion": 2},
        {"tenantId": TENANT, "conversationId": "lost", "rowsVersion": 1, "recordVersion": null},
    ]);
    for line in ["rebuild from-record --dry-run --json", "rebuild from-record --json"] {
        let lines = drill.lines(line).await;
        let lost = lines.iter().find(|line| line["step"] == "lost").expect("losses");
        assert_eq!(lost["named"], expected, "{lines:?}");
        assert_eq!(lost["erasuresRepeated"], 1, "{lines:?}");
    }
    // What they remember may be of the commits that were given up.
    eventually("a refusal", || async { Box::pin(drill.are_refused()).await.then_some(()) }).await;
    for node in drill.fixture.processes() {
        node.kill();
    }
    drill.fixture.restart(FaultTarget::Everything).await;
    let agent = drill.fixture.agent.clone();
    drill.check_back(2).await;
    for (conversation, is_kept) in [("kept", true), ("lost", false), ("erased", false)] {
        let read = agent.try_get(agent.read_target(conversation)).await;
        assert_eq!(read.is_ok(), is_kept, "{conversation}: {read:?}");
    }
    let verified = drill.run("verify").await;
    assert_eq!(verified.code, Some(0), "{verified:?}");
    let is_healthy = || async { (drill.run("status --no-roles").await.code == Some(0)).then_some(()) };
    eventually("a healthy system", is_healthy).await;
}
