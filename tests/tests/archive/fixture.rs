//! A stack with old conversations, a folder for their segments, and the program.

use std::fs;
use std::path::{Path, PathBuf};

use domain::Partition;
use event_log::Record;
use futures::future::join_all;
use read_model::ReadModel;
use read_model::projections::conversations::lease;
use serde_json::Value;
use tempfile::TempDir;
use tests::agent::Agent;
use tests::events::{text_of, user};
use tests::eventually::eventually;
use tests::process::Process;
use tests::program;
use tests::program::CommandOutput;
use tests::stack::{Setup, Stack};
use wire::proto::event::v1 as event;
use wire::proto::operate::v1::Scope;
use wire::proto::write::v1 as write;

use crate::old_conversations::{OldConversation, key};

pub(crate) const TENANT: &str = "acme";
pub(crate) const AGENT: &str = "support";

pub(crate) struct Fixture {
    pub(crate) stack: Stack,
    pub(crate) agent: Agent,
    pub(crate) record: Record,
    pub(crate) folder: TempDir,
}

impl Fixture {
    pub(crate) async fn start() -> Self {
        Self::start_with(Setup::tasks()).await
    }

    /// With a Postgres of its own, for [`Fixture::sql`].
    pub(crate) async fn start_with_own_postgres() -> Self {
        Self::start_with(Setup::tasks().with_own_postgres()).await
    }

    async fn start_with(setup: Setup) -> Self {
        let mut stack = setup.prepare().await;
        Box::pin(stack.start()).await;
        Self::of(stack).await
    }

    /// With a running stack.
    pub(crate) async fn of(stack: Stack) -> Self {
        let agent = stack.agent(TENANT, AGENT).await;
        let record = Record::open(tests::settings::record(&stack.servers)).await;
        Self { stack, agent, record: record.expect("a record"), folder: tempfile::tempdir().expect("a folder") }
    }

    /// Creates old conversations, `old-0` and so on, with this many messages each, and waits for their rows.
    pub(crate) async fn fill(&self, conversations: usize, messages: usize) -> Vec<OldConversation> {
        let chats = (0..conversations).map(|n| OldConversation::new(&format!("old-{n}")).chat(&self.record, messages));
        let old = join_all(chats).await;
        self.wait_for_rows(self.stack.servers.database_url()).await;
        old
    }

    /// A token with the scopes of the agent's caller.
    pub(crate) async fn token(&self) -> String {
        let operator = self.stack.operator().await;
        let scopes = [Scope::Append, Scope::Read, Scope::Erase];
        operator.token(&scopes, TENANT).await.secret
    }

    /// Waits until the rows of a database contain the whole record.
    pub(crate) async fn wait_for_rows(&self, url: &str) {
        let model = ReadModel::connect_lazy(&read_model::ReadModelConfig::new(url.to_owned())).expect("a read model");
        eventually("all rows", || async {
            let live = model.in_schema(model.live_schema().await.ok()?);
            let held = lease::checkpoints(&live).await.ok()?;
            for partition in (0..self.record.partitions()).map(Partition) {
                let last = self.record.bounds_of(partition).await.ok()?.last;
                let own = held.iter().find(|one| one.lease.partition == partition)?;
                if own.sequence < last {
                    return None;
                }
            }
            Some(())
        })
        .await;
    }

    pub(crate) fn segments(&self) -> PathBuf {
        self.folder.path().join("segments")
    }

    fn variables(&self) -> Vec<(String, String)> {
        let nats = self.stack.servers.nats().url();
        let postgres = self.stack.servers.database_url().to_owned();
        vec![("HANSARD_RECORD__NATS_URL".to_owned(), nats), ("HANSARD_READ_MODEL__DATABASE_URL".to_owned(), postgres)]
    }

    /// Runs a command and checks its exit code.
    pub(crate) async fn run(&self, line: &str, code: i32) -> CommandOutput {
        let words = line.split_whitespace();
        let ended = program!().run(words, &self.variables()).await;
        assert_eq!(ended.code, Some(code), "{line}: {ended:?}");
        ended
    }

    /// Runs a command, checks its exit code, and returns its lines of JSON.
    pub(crate) async fn lines(&self, line: &str, code: i32) -> Vec<Value> {
        let ended = self.run(line, code).await;
        let lines = ended.stdout.lines();
        lines.map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{ended:?}"))).collect()
    }

    /// The summary in the last line of a successful command.
    pub(crate) async fn summary(&self, line: &str) -> Value {
        let lines = self.lines(line, 0).await;
        lines.last().expect("a summary")["summary"].clone()
    }

    /// The command that archives commits older than 90 days.
    pub(crate) fn archiving(&self, arguments: &str) -> String {
        let folder = self.segments();
        format!("archive run --older-than 90d --to file://{} --json {arguments}", folder.display())
    }

    /// Archives commits older than 90 days.
    pub(crate) async fn archive(&self) -> Value {
        self.summary(&self.archiving("")).await
    }

    /// The command that hibernates conversations without commits in the last 90 days.
    pub(crate) fn hibernation(&self, arguments: &str) -> String {
        self.archiving(&format!("--hibernate --delay-seconds 11 {arguments}"))
    }

    /// Hibernates conversations without commits in the last 90 days.
    pub(crate) async fn hibernate(&self) -> Value {
        self.summary(&self.hibernation("")).await
    }

    /// Executes SQL on the live rows.
    pub(crate) async fn sql(&mut self, sql: &str) {
        let psql = self.stack.servers.postgres_mut().tool("psql");
        let url = self.stack.servers.database_url();
        let sql = format!("SET search_path = conversations_v1; {sql}");
        tests::checker::query(&psql, url, &sql).await.expect("a statement");
    }

    /// Starts archiving.
    pub(crate) fn begin_archive(&self, removal: &str) -> Process {
        self.begin(&self.archiving(&format!("--removal {removal}")))
    }

    /// Starts hibernating.
    pub(crate) fn begin_hibernation(&self, removal: &str) -> Process {
        self.begin(&self.hibernation(&format!("--removal {removal}")))
    }

    fn begin(&self, line: &str) -> Process {
        let words: Vec<&str> = line.split_whitespace().collect();
        Process::start(&program!(), &words, &self.variables())
    }

    /// Checks that all rows equal the record with its archive.
    pub(crate) async fn verify(&self) -> Value {
        let summary = self.summary("verify --json").await;
        assert_eq!(summary["differing"], 0, "{summary}");
        assert_eq!(summary["unsettled"], 0, "{summary}");
        summary
    }

    /// The number of commits of a conversation in the record.
    pub(crate) async fn commits(&self, id: &str) -> u64 {
        self.record.commits_of(&key(id)).await.expect("a number of commits")
    }

    /// The texts of a conversation.
    pub(crate) async fn texts(&self, id: &str) -> Vec<String> {
        let events = self.agent.events(self.agent.list_request(id)).await;
        events.iter().filter_map(text_of).collect()
    }

    /// Creates the conversation `fork` after the fifth text of another one, and checks its texts.
    pub(crate) async fn check_fork(&self, parent: &str) {
        let request = write::CreateConversationRequest {
            forked_from: Some(event::ForkPoint { conversation_id: parent.to_owned(), version: 6, depth: 0 }),
            ..self.agent.create_request("fork")
        };
        self.agent.try_create(request).await.expect("a fork");
        self.agent.append("fork", vec![user("aside")]).await;
        let mut forked: Vec<String> = self.texts(parent).await.into_iter().take(5).collect();
        forked.push("aside".to_owned());
        assert_eq!(self.texts("fork").await, forked);
    }

    /// The total size of the record's streams.
    pub(crate) async fn size_bytes(&self) -> u64 {
        let mut bytes = 0;
        for partition in (0..self.record.partitions()).map(Partition) {
            let standing = self.record.partition_status(partition).await;
            bytes += standing.expect("a partition").size_bytes;
        }
        bytes
    }

    /// The number of archived commits in the catalogue.
    pub(crate) async fn archived(&self) -> u64 {
        let segments = self.lines("archive list --json", 0).await;
        segments.iter().map(|one| one["commits"].as_u64().unwrap()).sum()
    }

    /// Every file of the segment store.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        files(&self.segments())
    }
}

/// The files below a folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}
