//! A writer and the gateway frozen beyond their callers' deadlines: what they do when they wake up changes nothing.
//!
//! `zombies` is the same of a projector.

use tests::admin;
use tests::eventually::eventually_true;

use crate::ground::{Ground, Victim};
use crate::strike::{FELT, bout};
use crate::workload::Workload;

/// Fresh reads that fail before the gateway is woken: two readers, and each waits to its deadline.
const UNREAD: usize = 2;
/// Acknowledgements after the awakening, so that what was left undone is tried.
const AWAKE: usize = 100;

#[tokio::test(flavor = "multi_thread")]
async fn what_wakes_up_too_late_changes_nothing() {
    let mut ground = Ground::start().await;
    let mut refused = 0;
    let victims = [Victim::Writer, Victim::Gateway];
    let bout = bout(&mut ground, &victims, async |ground, load, victim| {
        let before = refusals(ground).await;
        sleep_through(ground, load, victim).await;
        refused += refusals(ground).await - before;
    });
    let bout = bout.await;
    let bout = bout.with(
        "appends of the sleeper that the record refused once it woke",
        refused.to_string(),
    );
    let title = "a writer and the gateway asleep beyond their callers' deadlines";
    bout.judge(title, &mut ground).await;
}

async fn sleep_through(ground: &mut Ground, load: &Workload, victim: Victim) {
    // Of a try that is not answered its caller knows only at its deadline, which is past the sleeper's own.
    let felt = || match victim {
        Victim::Gateway => load.journal.unread(),
        Victim::Writer
        | Victim::Writers
        | Victim::Projector
        | Victim::Projectors
        | Victim::Nats
        | Victim::Postgres
        | Victim::Everything => load.journal.unanswered(),
    };
    let enough = felt()
        + if victim == Victim::Gateway {
            UNREAD
        } else {
            FELT
        };
    ground.freeze(victim);
    eventually_true("a sign of the sleeper", || felt() >= enough).await;
    ground.thaw(victim);
    load.acknowledged(AWAKE).await;
}

/// How often the record has refused an append of the first writer, which another commit had overtaken.
async fn refusals(ground: &Ground) -> u64 {
    let page = admin::get(ground.stack.writer.admin_addr(), "/metrics").await;
    let page = page.expect("metrics").body;
    let lines = page.lines().filter(|line| {
        line.starts_with("hansard_append_retries_total") && line.contains("wrong_last_sequence")
    });
    let counts = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
    counts.sum()
}
