//! The checks after the load: record, rows, and the answers of both programs.

use std::collections::BTreeSet;

use domain::EventKind;
use tests::agent::Agent;
use tests::checker::{Finding, Reading, check_equal};
use tests::node::Node;
use tests::program::Program;
use tests::settings::Role;

use super::story::Story;
use crate::fixture::Fixture;
use crate::verdict::{check_all, read, read_all, read_record};
use crate::workload::WorkloadResult;

/// What a rollout did and found.
pub(crate) struct Verdict {
    pub(crate) fixture: Fixture,
    pub(crate) tried: WorkloadResult,
    pub(crate) stories: Vec<Story>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) lines: Vec<(&'static str, String)>,
}

impl Verdict {
    /// Checks everything, while a gateway of the old program runs beside the current one.
    pub(crate) async fn check(mut self, title: &str, old: &Program, new: &Program) {
        check_all(&mut self.fixture, title, &self.tried, &self.lines).await;
        self.check_kinds().await;
        let mut gateway = self.fixture.stack.another(Role::Gateway);
        gateway.set_program(old.clone());
        gateway.start().await;
        for program in [old, new] {
            self.run(program, &["verify"]).await;
        }
        self.compare(&gateway).await;
        // The next version of the projection, and the way back by the old program.
        self.run(new, &["rebuild", "conversations"]).await;
        self.compare(&gateway).await;
        self.run(old, &["rebuild", "rollback"]).await;
        self.compare(&gateway).await;
        let findings = &self.findings;
        assert!(findings.is_empty(), "{findings:?}");
    }

    /// Checks that the load contained every kind of event.
    async fn check_kinds(&self) {
        let recorded = read_record(&self.fixture.record().await).await;
        let commits = recorded.conversations.values().flatten();
        let events = commits.flat_map(|commit| &commit.opened.commit.events);
        let kinds: BTreeSet<EventKind> = events.map(|event| event.fact.kind()).collect();
        assert_eq!(kinds, EventKind::ALL.iter().copied().collect());
    }

    /// Compares the answers of both gateways with each other and with earlier ones.
    async fn compare(&mut self, gateway: &Node) {
        let url = gateway.grpc_url();
        let there = |agent: &Agent| Agent::new(agent.caller().with_gateway(&url), agent.id());
        let readings = read(&self.fixture, &self.tried).await;
        let conversations = readings.iter().map(|reading| reading.conversation.clone());
        let old = read_all(&there(&self.fixture.agent), conversations).await;
        self.findings.extend(check_equal(&readings, &old));
        for story in &self.stories {
            for agent in [story.agent(), &there(story.agent())] {
                let now: Vec<Reading> = story.read(agent).await;
                self.findings.extend(check_equal(story.readings(), &now));
            }
        }
    }

    /// Runs a command of operators.
    async fn run(&self, program: &Program, arguments: &[&str]) {
        let servers = &self.fixture.stack.servers;
        let variables = [
            ("HANSARD_RECORD__NATS_URL", servers.nats().url()),
            ("HANSARD_READ_MODEL__DATABASE_URL", servers.database_url().to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value));
        let output = program.run(arguments.iter().copied(), &variables).await;
        assert_eq!(output.code, Some(0), "{arguments:?}: {output:?}");
    }
}
