//! Replaces processes one at a time under load. After each step both writers record every kind of event, and old commands are sent again.

use std::collections::BTreeSet;
use std::ops::Range;

use futures::{StreamExt as _, stream};
use tests::checker::{self, Finding, check_equal};
use tests::eventually::{eventually, eventually_true};
use tests::node::Node;
use tests::operator::Operator;
use tests::program::Program;
use tokio::join;

use super::story::Story;
use super::verdict::Verdict;
use crate::fixture::Fixture;
use crate::retries::retry;
use crate::workload::Workload;

/// The processes, as [`Fixture::processes`] orders them.
const PROCESSES: Range<usize> = 0..5;
const GATEWAY: usize = 4;
/// Acknowledgements after each replacement.
const ACKNOWLEDGED: usize = if cfg!(feature = "faults") { 700 } else { 40 };
/// Answered reads after each replacement.
const READ: usize = 10;
/// Commands that are sent again after each replacement.
const RETRIED: usize = if cfg!(feature = "faults") { 100 } else { 20 };
const AT_ONCE: usize = 8;

const PROJECTORS: &str = "
    SELECT jsonb_build_object('projectors', count(DISTINCT holder)) FROM conversations_v1.checkpoint
    WHERE lease_until > now()";

/// A system whose processes are replaced.
pub(crate) struct Rollout {
    fixture: Fixture,
    load: Workload,
    stories: Vec<Story>,
    findings: Vec<Finding>,
    replaced: usize,
    retried: usize,
}

impl Rollout {
    pub(crate) fn new(fixture: Fixture, load: Workload) -> Self {
        Self { fixture, load, stories: Vec::new(), findings: Vec::new(), replaced: 0, retried: 0 }
    }

    /// Replaces every process in the order of an upgrade.
    pub(crate) async fn upgrade(&mut self, program: &Program) {
        for process in PROCESSES {
            self.replace(process, program).await;
        }
    }

    /// Replaces every process in the opposite order.
    pub(crate) async fn roll_back(&mut self, program: &Program) {
        for process in PROCESSES.rev() {
            self.replace(process, program).await;
        }
    }

    /// Records every kind of event through each writer.
    pub(crate) async fn write_stories(&mut self) {
        let caller = self.fixture.stack.caller(self.fixture.stack.token().await);
        let frontend = self.fixture.stack.http_client();
        let (first, second) = (self.stories.len(), self.stories.len() + 1);
        let write = async |writer: &Node, number| {
            let operator = Operator::new(caller.with_writer(&writer.grpc_url()));
            let name = format!("story-{number}");
            // Boxed, because the future is large.
            Box::pin(Story::write(&operator, &frontend, &name)).await
        };
        let (one, other) = join!(write(&self.fixture.stack.writer, first), write(&self.fixture.second_writer, second));
        self.stories.extend([one, other]);
    }

    /// Ends the load.
    pub(crate) async fn finish(self) -> Verdict {
        let lines = vec![
            ("processes replaced", self.replaced.to_string()),
            ("commands sent again", self.retried.to_string()),
            ("stories", self.stories.len().to_string()),
            ("fresh reads that failed", self.load.journal.unread().to_string()),
        ];
        Verdict {
            fixture: self.fixture,
            tried: self.load.finish().await,
            stories: self.stories,
            findings: self.findings,
            lines,
        }
    }

    /// Replaces the program of a process, and waits for the effects under load. Between two replacements the load is paused.
    async fn replace(&mut self, process: usize, program: &Program) {
        self.load.journal.resume();
        self.restart(process, program).await;
        self.wait_for_projectors().await;
        self.load.wait_for_acknowledgements(ACKNOWLEDGED).await;
        let journal = &self.load.journal;
        let enough = journal.read() + READ;
        eventually_true("fresh reads", || journal.read() >= enough).await;
        journal.pause();
        self.write_stories().await;
        self.retry().await;
        if process == GATEWAY {
            self.read_stories().await;
        }
        for node in self.fixture.processes() {
            node.ready().await;
        }
    }

    /// Drains a process, and starts it with another program.
    async fn restart(&mut self, process: usize, program: &Program) {
        let processes = self.fixture.processes();
        let node = processes.into_iter().nth(process).expect("a process");
        let status = node.stop().await.expect("a process that ran");
        assert!(status.success(), "process {process} was not drained: {status}");
        node.set_program(program.clone());
        node.start().await;
        self.replaced += 1;
    }

    /// Waits until both projectors hold partitions.
    async fn wait_for_projectors(&mut self) {
        let (psql, url) = self.fixture.psql();
        eventually("partitions of both projectors", || async {
            let rows = checker::query(&psql, &url, PROJECTORS).await.ok()?;
            let projectors = rows.first()?.get("projectors")?.as_u64()?;
            (projectors == 2).then_some(())
        })
        .await;
    }

    /// Sends old commands again, through any writer: the answers must be the first ones.
    async fn retry(&mut self) {
        let mut again = Workload::new(&self.fixture, 0);
        let calls = self.load.journal.sample(RETRIED);
        self.retried += calls.len();
        let retries: Vec<_> = calls.into_iter().map(|call| (call, again.client())).collect();
        let erased = BTreeSet::new();
        let findings: Vec<Option<Finding>> = stream::iter(retries)
            .map(|(call, client)| retry(call, client, &erased))
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        self.findings.extend(findings.into_iter().flatten());
    }

    /// Reads all stories through the new gateway: its answers must be those of the earlier ones.
    async fn read_stories(&mut self) {
        for story in &self.stories {
            let now = story.read(story.agent()).await;
            self.findings.extend(check_equal(story.readings(), &now));
        }
    }
}
