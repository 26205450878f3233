//! A writer and the gateway are frozen beyond their callers' deadlines: their late actions change nothing. `failover` then freezes writers
//! of a gateway that knows both.
//!
//! `zombies` tests the same for a projector.

use tests::admin;
use tests::eventually::eventually_true;

use crate::failover::{self, Failover};
use crate::fixture::{FaultTarget, Fixture};
use crate::injection::{OBSERVATIONS, run_with_faults};
use crate::workload::Workload;

/// Fresh reads that fail before the gateway is resumed: two readers, each waiting until its deadline.
const UNREAD: usize = 2;
/// Acknowledgements after the resumption, so that interrupted work is continued.
const AFTER_RESUME: usize = 100;

#[tokio::test(flavor = "multi_thread")]
async fn late_writes_of_frozen_roles_change_nothing() {
    let mut fixture = Fixture::start().await;
    let mut refused = 0;
    let targets = [FaultTarget::Writer, FaultTarget::Gateway];
    let run = run_with_faults(&mut fixture, &targets, async |fixture, load, target| {
        let before = rejected_appends(fixture).await;
        freeze_past_deadline(fixture, load, target).await;
        refused += rejected_appends(fixture).await - before;
    })
    .await
    .with("appends of the sleeper that the record refused once it woke", refused.to_string());
    let Failover { tried, longest } = failover::run(&mut fixture).await;
    let run = run
        .followed_by(tried)
        .with("longest command through a gateway with two writers, ms", longest.as_millis().to_string());
    let title = "a writer and the gateway asleep beyond their callers' deadlines";
    run.check(title, &mut fixture).await;
}

async fn freeze_past_deadline(fixture: &mut Fixture, load: &Workload, target: FaultTarget) {
    // The caller of an unanswered try waits until its deadline, which is later than that of the frozen writer.
    let felt = || match target {
        FaultTarget::Gateway => load.journal.unread(),
        FaultTarget::Writer
        | FaultTarget::Writers
        | FaultTarget::Projector
        | FaultTarget::Projectors
        | FaultTarget::Nats
        | FaultTarget::Postgres
        | FaultTarget::Everything => load.journal.unanswered(),
    };
    let enough = felt() + if target == FaultTarget::Gateway { UNREAD } else { OBSERVATIONS };
    fixture.freeze(target);
    eventually_true("a sign of the sleeper", || felt() >= enough).await;
    fixture.resume(target);
    load.wait_for_acknowledgements(AFTER_RESUME).await;
}

/// How often the record has rejected an append of the first writer because of a newer commit.
async fn rejected_appends(fixture: &Fixture) -> u64 {
    let page = admin::get(fixture.stack.writer.admin_addr(), "/metrics").await.expect("metrics").body;
    let lines = page
        .lines()
        .filter(|line| line.starts_with("hansard_append_retries_total") && line.contains("wrong_last_sequence"));
    let counts = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
    counts.sum()
}
