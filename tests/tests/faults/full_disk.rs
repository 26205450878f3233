//! The disk of nats-server fills up: appends fail with an error, nothing acknowledged is lost, and appends succeed
//! again after space is freed.

use std::time::Duration;

use devstack::NatsConfig;
use serde_json::Value;
use tests::disk::Disk;
use tests::errors::Failure;
use tests::eventually::eventually_true;
use tests::servers::nats_page;
use tokio::time::{Instant, sleep};
use tonic::Status;

use crate::fixture::{Crowd, Fixture};
use crate::injection::{OBSERVATIONS, run_with_faults};
use crate::table::{Obstacle, permitted};
use crate::workload::{Request, Workload};

const DISK_BYTES: u64 = 128 * 1024 * 1024;
/// The limit for the error of an append: the record's timeout of 3 s, and time to return it.
const ERROR_LIMIT: Duration = Duration::from_secs(5);
/// How long the test waits for nats-server to recover by itself after space is freed.
const RECOVERY_WAIT: Duration = Duration::from_secs(3);
/// How often the disk is filled again, if the server frees space.
const REFILLS_MAX: usize = 20;
const POLL: Duration = Duration::from_millis(100);

/// Measurements of a full disk.
#[derive(Debug, Default)]
struct Observations {
    /// The longest time until an append returned its error.
    error_time: Duration,
    /// The health page of the server: on a full disk, and after space is freed.
    health: Vec<String>,
}

#[tokio::test(flavor = "multi_thread")]
async fn appends_fail_clearly_and_nothing_is_lost() {
    fill_disk("a full disk of nats-server", Crowd::None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_fail_clearly_and_nothing_is_lost() {
    let title = "a full disk of nats-server, commits in batches";
    fill_disk(title, Crowd::OfOnePartition).await;
}

async fn fill_disk(title: &str, crowd: Crowd) {
    let Some(disk) = permitted(title, Disk::small(DISK_BYTES).map_err(Obstacle::Machine)) else {
        return;
    };
    let setup = Fixture::setup().with_nats(vec![NatsConfig::new(disk.folder())]);
    let mut fixture = Fixture::on(setup).await;
    fixture.crowd = crowd;
    let mut observations = Observations::default();
    let run = run_with_faults(&mut fixture, &[()], async |fixture, load, ()| {
        fill_and_clear(fixture, load, &disk, &mut observations).await;
    })
    .await;
    let error_time = observations.error_time.as_millis().to_string();
    let health = observations.health.join("; ");
    let run = run.with("append errors returned within, ms", error_time).with("nats-server's health page", health);
    run.check(title, &mut fixture).await;
}

async fn fill_and_clear(fixture: &mut Fixture, load: &mut Workload, disk: &Disk, observations: &mut Observations) {
    // A conversation without other writers: in a busy one, an append waits for its turn first.
    let timed = load.create("timed", 1).await.remove(0);
    let enough = load.journal.unanswered() + OBSERVATIONS;
    disk.fill();
    eventually_true("appends that fail", || load.journal.unanswered() >= enough).await;
    let mut client = load.client();
    let mut pending = Vec::new();
    let (refused, error_time) = loop {
        assert!(pending.len() < REFILLS_MAX, "a disk that stays full");
        let command = client.pending_append(&timed);
        let request = Request::of(&command, &client.endpoints.agent);
        pending.push(command);
        let begun = Instant::now();
        match request.send(&client.caller()).await {
            Err(status) => break (status, begun.elapsed()),
            // The server deletes erased commits, which frees space.
            Ok(_) => disk.fill(),
        }
    };
    observations.error_time = observations.error_time.max(error_time);
    check_refused(refused, error_time);
    let full = health(fixture).await;
    disk.clear();
    let again = observe_recovery(fixture).await;
    let seen = format!("full: {full}, with space again: {again}");
    if !observations.health.contains(&seen) {
        observations.health.push(seen);
    }
    let server = fixture.stack.servers.nats_mut();
    server.kill();
    server.restart().await.expect("NATS with space");
    for command in pending {
        client.settle(command).await;
    }
}

/// An append to a full disk returns a retryable error in time.
fn check_refused(status: Status, after: Duration) {
    let failure = Failure::from(status);
    assert!(failure.retry_after.is_some(), "no time to retry: {failure:?}");
    assert!(after < ERROR_LIMIT, "returned only after {after:?}");
}

/// The health page for a while after space is freed: whether the server recovers without a restart.
async fn observe_recovery(fixture: &Fixture) -> String {
    let deadline = Instant::now() + RECOVERY_WAIT;
    loop {
        let health_text = health(fixture).await;
        if health_text == "ok" || Instant::now() > deadline {
            return health_text;
        }
        sleep(POLL).await;
    }
}

async fn health(fixture: &Fixture) -> String {
    let page = nats_page(fixture.stack.servers.nats(), "/healthz").await.unwrap_or_default();
    let health_text = page.get("error").or(page.get("status")).and_then(Value::as_str).unwrap_or("no answer");
    // The file's path precedes the error.
    health_text.rsplit(": ").next().unwrap_or(health_text).to_owned()
}
