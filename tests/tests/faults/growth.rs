//! Partitions are added under load, while roles are killed in every stage.

use domain::{Partition, Stage};
use event_log::Record;
use tests::eventually::eventually_true;
use tests::program;
use tests::program::CommandOutput;
use tokio::task::JoinHandle;

use crate::fixture::{FaultTarget, Fixture};
use crate::injection::run_with_faults;
use crate::workload::Workload;

const BEFORE: u16 = 8;
const AFTER: u16 = 24;
/// Acknowledgements in each stage, before and after its fault.
const PASSED: usize = 60;

/// A step of the test.
#[derive(Debug, Clone, Copy)]
enum Step {
    Begin,
    /// Kills a role after the processes know this stage.
    Kill(Stage, FaultTarget),
    End,
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes a minute; tests/operators/partitions.rs adds partitions in CI"]
async fn partitions_are_added_under_load() {
    let steps = [
        Step::Begin,
        Step::Kill(Stage::Announced, FaultTarget::Writer),
        Step::Kill(Stage::Closing, FaultTarget::Writer),
        Step::Kill(Stage::Open, FaultTarget::Projector),
        Step::End,
    ];
    let mut fixture = Fixture::start().await;
    let record = fixture.record().await;
    let mut growth = None;
    let run = run_with_faults(&mut fixture, &steps, async |fixture, load, step| match step {
        Step::Begin => growth = Some(begin(fixture)),
        Step::Kill(stage, target) => kill(fixture, load, &record, stage, target).await,
        Step::End => {
            if let Some(growth) = growth.take() {
                let ended = growth.await.unwrap();
                assert_eq!(ended.code, Some(0), "{ended:?}");
            }
            load.wait_for_acknowledgements(PASSED).await;
        }
    })
    .await;
    let new = messages_in(&record, BEFORE..AFTER).await;
    assert!(new > 0, "no conversation is in a new partition");
    let run = run.with("commits in new partitions", new.to_string());
    run.check("partitions added: 8 to 24", &mut fixture).await;
}

fn begin(fixture: &Fixture) -> JoinHandle<CommandOutput> {
    let url = fixture.stack.servers.nats().url();
    let line = format!("partitions add {AFTER} --stage-seconds 11 --nats-url {url}");
    tokio::spawn(async move {
        let arguments = line.split(' ');
        program!().run(arguments, &[]).await
    })
}

async fn kill(fixture: &mut Fixture, load: &Workload, record: &Record, stage: Stage, target: FaultTarget) {
    eventually_true("the stage", || {
        let layout = record.layout();
        layout.partitions() == AFTER && layout.stage() >= stage
    })
    .await;
    load.wait_for_acknowledgements(PASSED).await;
    fixture.kill(target);
    load.wait_for_acknowledgements(PASSED).await;
    fixture.restart(target).await;
}

/// The number of messages in partitions.
async fn messages_in(record: &Record, partitions: std::ops::Range<u16>) -> u64 {
    let mut messages = 0;
    for partition in partitions.map(Partition) {
        messages += record.partition_status(partition).await.unwrap().messages;
    }
    messages
}
