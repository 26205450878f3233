//! A stack with conversations, and functions that inspect and damage it.

use std::collections::BTreeSet;

use bytes::Bytes;
use domain::{ConversationId, ConversationKey, Partition, TenantId};
use event_log::{Record, StoredMessage};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;
use tests::agent::Agent;
use tests::checker;
use tests::events::{assistant, call, result, user};
use tests::eventually::eventually;
use tests::program;
use tests::program::CommandOutput;
use tests::settings;
use tests::stack::{Setup, Stack};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

pub(crate) const TENANT: &str = "acme";

/// A stack, and an agent with conversations.
pub(crate) struct Fixture {
    pub(crate) stack: Stack,
    pub(crate) agent: Agent,
    pub(crate) record: Record,
}

/// The result of a run of the command.
#[derive(Debug)]
pub(crate) struct VerifyOutput {
    pub(crate) ended: CommandOutput,
    /// Each difference: conversation, kind, version and columns.
    pub(crate) findings: BTreeSet<String>,
    /// The number of repaired differences.
    pub(crate) repaired: usize,
    pub(crate) summary: Value,
}

impl Fixture {
    /// Starts everything. Boxed, because the future is large.
    pub(crate) fn start() -> BoxFuture<'static, Self> {
        async {
            let stack = Setup::tasks().with_own_postgres().start().await;
            let agent = stack.agent(TENANT, "support").await;
            let record = Record::open(settings::record(&stack.servers)).await;
            Self { stack, agent, record: record.unwrap() }
        }
        .boxed()
    }

    /// Creates a conversation of six events in four commits.
    pub(crate) async fn create_conversation(&self, conversation: &str) {
        self.agent.create(conversation).await;
        let asks = vec![user(format!("Where is {conversation}?")), call("c1", "{}")];
        self.agent.append(conversation, asks).await;
        let answers = vec![result("c1", "{}"), assistant("Here.")];
        self.agent.append(conversation, answers).await;
        self.agent.append(conversation, vec![user("Thanks.")]).await;
    }

    /// Waits until the rows contain the whole record.
    pub(crate) async fn settle(&mut self) {
        let mut ends = Vec::new();
        for partition in 0..self.record.partitions() {
            let bounds = self.record.bounds_of(Partition(partition)).await;
            ends.push(bounds.unwrap().last.0);
        }
        let ends: Vec<String> = ends.iter().map(ToString::to_string).collect();
        let sql = format!(
            "SELECT json_build_object('behind', count(*)) FROM conversations_v1.checkpoint
             RIGHT JOIN unnest(array[{}]) WITH ORDINALITY AS ends (last, place) ON place = partition + 1
             WHERE coalesce(sequence, 0) < last",
            ends.join(",")
        );
        let (psql, url) = self.psql();
        eventually("rows that hold the record", || {
            let (psql, url, sql) = (psql.clone(), url.clone(), sql.clone());
            async move {
                let rows = checker::query(&psql, &url, &sql).await.unwrap();
                (rows[0]["behind"] == 0).then_some(())
            }
        })
        .await;
    }

    fn psql(&mut self) -> (std::path::PathBuf, String) {
        let servers = &mut self.stack.servers;
        let psql = servers.postgres_mut().tool("psql");
        (psql, servers.database_url().to_owned())
    }

    /// Runs SQL on the read model, bypassing the product.
    pub(crate) async fn sql(&mut self, sql: &str) {
        let (psql, url) = self.psql();
        let sql = format!("SET search_path = conversations_v1; {sql}");
        checker::query(&psql, &url, &sql).await.unwrap();
    }

    /// Runs `hansard verify` with these arguments.
    pub(crate) async fn verify(&self, arguments: &str) -> VerifyOutput {
        let servers = &self.stack.servers;
        let variables = [
            ("HANSARD_RECORD__NATS_URL", servers.nats().url()),
            ("HANSARD_READ_MODEL__DATABASE_URL", servers.database_url().to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value));
        let arguments = ["verify", "--json"].into_iter().chain(arguments.split_whitespace());
        output(program!().run(arguments, &variables).await)
    }

    /// Checks that there are no differences.
    pub(crate) async fn check_no_differences(&self, arguments: &str) -> VerifyOutput {
        let output = self.verify(arguments).await;
        assert_eq!(output.ended.code, Some(0), "{output:?}");
        assert_eq!(output.findings, BTreeSet::new());
        output
    }

    /// Checks that exactly these differences are found, each as `conversation kind version columns`.
    pub(crate) async fn check_differences(&self, arguments: &str, expected: &[&str]) -> VerifyOutput {
        let output = self.verify(arguments).await;
        let expected = expected.iter().map(|line| (*line).to_owned()).collect();
        assert_eq!(output.findings, expected, "{output:?}");
        assert_eq!(output.ended.code, Some(5), "{output:?}");
        output
    }

    pub(crate) fn key(conversation: &str) -> ConversationKey {
        ConversationKey {
            tenant: TenantId::parse(TENANT).unwrap(),
            conversation: ConversationId::parse(conversation).unwrap(),
        }
    }

    /// The commits of a conversation.
    pub(crate) async fn commits(&self, conversation: &str) -> Vec<StoredMessage> {
        let key = Self::key(conversation);
        let tail = self.record.tail(&key, domain::Sequence(0), event_log::TailBounds::default());
        tail.await.unwrap().commits
    }

    /// Deletes a message of the record, bypassing the product.
    pub(crate) async fn delete(&self, message: &StoredMessage) {
        let position = message.position;
        let subject = format!("$JS.API.STREAM.MSG.DELETE.HANSARD_{}", position.partition);
        let request = format!("{{\"seq\":{}}}", position.sequence);
        let reply = self.request(&subject, request.into()).await;
        assert!(reply.contains("\"success\":true"), "{reply}");
    }

    /// Publishes a message to a conversation's subject, bypassing the product.
    pub(crate) async fn publish(&self, conversation: &str, message: Bytes) {
        let partition = self.record.partition_of(&Self::key(conversation)).await.unwrap();
        let subject = format!("hansard.{partition}.{TENANT}.{conversation}");
        let reply = self.request(&subject, message).await;
        assert!(reply.contains("\"seq\""), "{reply}");
    }

    /// One request over a plain connection; returns its reply.
    async fn request(&self, subject: &str, payload: Bytes) -> String {
        let url = self.stack.servers.nats().url();
        let address = url.trim_start_matches("nats://");
        let mut connection = TcpStream::connect(address).await.unwrap();
        let begin =
            format!("CONNECT {{\"verbose\":false}}\r\nSUB inbox 1\r\nPUB {subject} inbox {}\r\n", payload.len());
        connection.write_all(begin.as_bytes()).await.unwrap();
        connection.write_all(&payload).await.unwrap();
        connection.write_all(b"\r\n").await.unwrap();
        let mut read = Vec::new();
        loop {
            let text = String::from_utf8_lossy(&read).into_owned();
            if let Some((_, reply)) = text.split_once("MSG inbox 1 ")
                && reply.trim_end().ends_with('}')
            {
                return reply.to_owned();
            }
            assert!(!text.contains("-ERR"), "{text}");
            assert!(connection.read_buf(&mut read).await.unwrap() > 0, "{text}");
        }
    }
}

fn output(ended: CommandOutput) -> VerifyOutput {
    let mut findings = BTreeSet::new();
    let (mut repaired, mut summary) = (0, Value::Null);
    for line in ended.stdout.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        if line["summary"].is_object() {
            summary = line["summary"].clone();
            continue;
        }
        repaired += usize::from(line["repaired"] == true);
        let listed = line["columns"].as_array().cloned().unwrap_or_default();
        let columns: Vec<&str> = listed.iter().filter_map(Value::as_str).collect();
        let version = line["version"].as_u64().map(|version| version.to_string());
        let words = [
            line["conversation"].as_str().unwrap_or("-").to_owned(),
            line["kind"].as_str().unwrap().to_owned(),
            version.unwrap_or_else(|| "-".to_owned()),
            columns.join(","),
        ];
        findings.insert(words.join(" ").trim_end().to_owned());
    }
    VerifyOutput { ended, findings, repaired, summary }
}
