//! A system with conversations to rebuild, and the program.

use event_log::Record;
use read_model::projections::conversations::lease;
use read_model::schemas::compare;
use read_model::{ReadModel, SchemaName};
use serde_json::Value;
use tests::agent::Agent;
use tests::events::{assistant, document_deleted, document_put, user};
use tests::eventually::eventually;
use tests::process::Process;
use tests::program;
use tests::program::CommandOutput;
use tests::settings;
use tests::stack::{Setup, Stack};

/// How long an eventual read waits for its position: longer than the pause of projection while schemas are switched, on
/// a machine that is busy with other tests.
const FENCE_WAIT_MS: u64 = 20_000;

/// A running system.
pub(crate) struct Fixture {
    pub(crate) stack: Stack,
    pub(crate) agent: Agent,
    pub(crate) model: ReadModel,
}

impl Fixture {
    pub(crate) async fn start() -> Self {
        Self::of(Setup::tasks()).await
    }

    pub(crate) async fn of(setup: Setup) -> Self {
        let mut stack = setup.prepare().await;
        stack.gateway.settings.gateway.fence_wait_ms = FENCE_WAIT_MS;
        stack.start().await;
        let agent = stack.any_agent().await;
        let model = ReadModel::connect_lazy(&stack.projector.settings.projector.read_model);
        Self { stack, agent, model: model.expect("a read model") }
    }

    /// Creates conversations with this many messages each, `old-0` and so on, in commits of five, and with documents.
    pub(crate) async fn fill(&self, conversations: usize, messages: usize) {
        let fill = |n: usize| async move {
            let id = format!("old-{n}");
            self.agent.create(&id).await;
            for turn in 0..messages / 5 {
                let text = |place: usize| format!("{id} says {turn}.{place}");
                let events = vec![user(text(0)), assistant(text(1)), user(text(2)), assistant(text(3)), user(text(4))];
                self.agent.append(&id, events).await;
            }
            let put = |key, value: &str| document_put(key, value);
            let documents = vec![put("kept", "1"), put("gone", "1"), put("again", "1")];
            self.agent.append(&id, documents).await;
            let changes = vec![put("kept", "2"), document_deleted("gone"), document_deleted("again")];
            self.agent.append(&id, changes).await;
            self.agent.append(&id, vec![put("again", "2")]).await;
        };
        for chunk in (0..conversations).collect::<Vec<_>>().chunks(32) {
            futures::future::join_all(chunk.iter().copied().map(fill)).await;
        }
    }

    /// The arguments after `rebuild`.
    pub(crate) fn arguments(&self, what: &[&str]) -> Vec<String> {
        let mut arguments: Vec<String> = vec!["rebuild".to_owned()];
        arguments.extend(what.iter().map(|word| (*word).to_owned()));
        let url = self.stack.servers.database_url().to_owned();
        arguments.extend(["--database-url".to_owned(), url]);
        if ["conversations", "rollback"].iter().any(|one| what.contains(one)) {
            let url = self.stack.servers.nats().url();
            arguments.extend(["--nats-url".to_owned(), url]);
        }
        arguments
    }

    /// Runs `hansard rebuild …` to its end.
    pub(crate) async fn rebuild(&self, what: &[&str]) -> CommandOutput {
        program!().run(self.arguments(what), &[]).await
    }

    /// The same with success; returns its steps.
    pub(crate) async fn rebuild_steps(&self, what: &[&str]) -> Vec<Value> {
        let ended = self.rebuild(&[what, &["--json"]].concat()).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let lines = ended.stdout.lines();
        lines.map(|line| serde_json::from_str(line).expect("a step")).collect()
    }

    /// Starts `hansard rebuild conversations`.
    pub(crate) fn begin(&self) -> Process {
        let listed = self.arguments(&["conversations"]);
        let arguments: Vec<&str> = listed.iter().map(String::as_str).collect();
        Process::start(&program!(), &arguments, &[])
    }

    pub(crate) async fn live(&self) -> SchemaName {
        eventually("a live schema", || async { self.model.live_schema().await.ok() }).await
    }

    /// Waits until the rows contain everything that is recorded now.
    pub(crate) async fn wait_for_rows(&self) {
        let record = Record::open(settings::record(&self.stack.servers)).await.expect("a record");
        eventually("all rows", || async {
            let live = self.model.in_schema(self.live().await);
            let held = lease::checkpoints(&live).await.ok()?;
            for checkpoint in held {
                let bounds = record.bounds_of(checkpoint.lease.partition).await.ok()?;
                if checkpoint.sequence < bounds.last {
                    return None;
                }
            }
            Some(())
        })
        .await;
    }

    /// The conversations that differ between two schemas.
    pub(crate) async fn differing(&self, one: SchemaName, other: SchemaName) -> Vec<String> {
        let (one, other) = (self.model.in_schema(one), self.model.in_schema(other));
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = compare::page(&one, &other, after.as_ref()).await.expect("a comparison");
            let ids = page.differing.iter().map(|key| key.conversation.as_str());
            found.extend(ids.map(str::to_owned));
            after = page.next;
            if after.is_none() {
                return found;
            }
        }
    }
}

/// The steps' names.
pub(crate) fn names(steps: &[Value]) -> Vec<&str> {
    steps.iter().filter_map(|step| step.get("step").and_then(Value::as_str)).collect()
}

pub(crate) fn schema(number: u32) -> SchemaName {
    SchemaName::parse(&format!("conversations_v{number}")).expect("a schema")
}
