//! The last release and the current program on the same record under load: each process is replaced in turn, forwards, back and
//! forwards again.
//!
//! `FAULT_LAST_RELEASE` names the program of the last release, which `.ci/last-release` makes.

mod rollout;
mod story;
mod verdict;

use std::path::PathBuf;

use rollout::Rollout;
use tests::program::Program;

use crate::fixture::{Fixture, PreparedFixture};
use crate::injection::seed;
use crate::table::{Obstacle, permitted};
use crate::workload::Workload;

/// The variable with the program of the last release.
const VARIABLE: &str = "FAULT_LAST_RELEASE";
const TITLE: &str = "upgrade, rollback and upgrade of each process in turn";

#[tokio::test(flavor = "multi_thread")]
async fn each_process_is_upgraded_and_rolled_back() {
    let Some(old) = permitted(TITLE, last_release()) else {
        return;
    };
    let new = tests::program!();
    let fixture = start(&old).await;
    let load = Workload::new(&fixture, seed()).light_and_fenced().begin(&fixture).await;
    let mut rollout = Rollout::new(fixture, load);
    rollout.write_stories().await;
    rollout.upgrade(&new).await;
    rollout.roll_back(&old).await;
    rollout.upgrade(&new).await;
    rollout.finish().await.check(TITLE, &old, &new).await;
}

/// The program of the last release, or why it is missing.
pub(crate) fn last_release() -> Result<Program, Obstacle> {
    let path = std::env::var_os(VARIABLE).map(PathBuf::from);
    if path.as_ref().is_some_and(|path| path.as_os_str().is_empty()) {
        return Err(Obstacle::Machine("this clone does not contain the commit of the last release".to_owned()));
    }
    let absent = || Obstacle::Tool(format!("no program in {VARIABLE}: name the one that .ci/last-release makes"));
    path.filter(|path| path.is_file()).map(Program::at).ok_or_else(absent)
}

/// A record that the program creates, with all of its roles.
async fn start(program: &Program) -> Fixture {
    let setup = tests::stack::Setup::processes(program.clone()).with_own_postgres();
    let prepared = PreparedFixture::of(setup).await;
    let url = prepared.stack.servers.nats().url();
    let variables = [("HANSARD_RECORD__NATS_URL".to_owned(), url)];
    let output = program.run(["bootstrap", "--name", "first"], &variables).await;
    assert_eq!(output.code, Some(0), "{output:?}");
    prepared.start().await
}
