//! A disk that fills up under nats-server: appends fail clearly, nothing acknowledged is lost, and it goes on with space.

use std::time::Duration;

use devstack::NatsConfig;
use serde_json::Value;
use tests::disk::Disk;
use tests::errors::Failure;
use tests::eventually::eventually_true;
use tests::servers::nats_page;
use tokio::time::{Instant, sleep};
use tonic::Status;

use crate::ground::Ground;
use crate::strike::{FELT, bout};
use crate::table::permitted;
use crate::workload::{Request, Workload};

const DISK_BYTES: u64 = 128 * 1024 * 1024;
/// How soon an append must be told that it failed: the record's own 3 s, and time to say so.
const TOLD_LIMIT: Duration = Duration::from_secs(5);
/// How long nats-server is watched for going on by itself once there is space.
const WATCHED: Duration = Duration::from_secs(3);
/// How often the disk is filled again, where the server makes room on it.
const REFILLS_MAX: usize = 20;
const POLL: Duration = Duration::from_millis(100);

/// What was seen of a full disk.
#[derive(Debug, Default)]
struct Sight {
    /// The longest time until an append was told that it failed.
    told: Duration,
    /// What the server's health page said: full, and with space again.
    health: Vec<String>,
}

#[tokio::test(flavor = "multi_thread")]
async fn appends_fail_clearly_and_nothing_is_lost() {
    let title = "a full disk of nats-server";
    let Some(disk) = permitted(title, Disk::small(DISK_BYTES)) else {
        return;
    };
    let setup = Ground::setup().with_nats(vec![NatsConfig::new(disk.folder())]);
    let mut ground = Ground::on(setup).await;
    let mut sight = Sight::default();
    let bout = bout(&mut ground, &[()], async |ground, load, ()| {
        fill_and_clear(ground, load, &disk, &mut sight).await;
    });
    let bout = bout.await;
    let told = sight.told.as_millis().to_string();
    let health = sight.health.join("; ");
    let bout = bout.with("an append is told that it failed within, ms", told);
    let bout = bout.with("nats-server's health page", health);
    bout.judge(title, &mut ground).await;
}

async fn fill_and_clear(ground: &mut Ground, load: &mut Workload, disk: &Disk, sight: &mut Sight) {
    // Nobody else's: in a busy one the wait for one's turn comes first.
    let timed = load.created("timed", 1).await.remove(0);
    let enough = load.journal.unanswered() + FELT;
    disk.fill();
    eventually_true("appends that fail", || load.journal.unanswered() >= enough).await;
    let mut client = load.client();
    let mut pending = Vec::new();
    let (refused, told) = loop {
        assert!(pending.len() < REFILLS_MAX, "a disk that stays full");
        let draught = client.draught(&timed);
        let request = Request::of(&draught, &client.doors.agent);
        pending.push(draught);
        let begun = Instant::now();
        match request.send(&client.caller()).await {
            Err(status) => break (status, begun.elapsed()),
            // The server deletes what was erased, which makes room.
            Ok(_) => disk.fill(),
        }
    };
    sight.told = sight.told.max(told);
    check_refused(refused, told);
    let full = health(ground).await;
    disk.clear();
    let again = watch(ground).await;
    let seen = format!("full: {full}, with space again: {again}");
    if !sight.health.contains(&seen) {
        sight.health.push(seen);
    }
    let server = ground.stack.servers.nats_mut();
    server.kill();
    server.restart().await.expect("NATS with space");
    for draught in pending {
        client.settle(draught).await;
    }
}

/// An append to a full disk is told in time that it may be tried again.
fn check_refused(status: Status, after: Duration) {
    let failure = Failure::from(status);
    assert!(
        failure.retry_after.is_some(),
        "no time to retry: {failure:?}"
    );
    assert!(after < TOLD_LIMIT, "told only after {after:?}");
}

/// What the health page says once there is space, for a while: whether the server goes on without a restart.
async fn watch(ground: &Ground) -> String {
    let deadline = Instant::now() + WATCHED;
    loop {
        let said = health(ground).await;
        if said == "ok" || Instant::now() > deadline {
            return said;
        }
        sleep(POLL).await;
    }
}

async fn health(ground: &Ground) -> String {
    let page = nats_page(ground.stack.servers.nats(), "/healthz").await;
    let page = page.unwrap_or_default();
    let said = page.get("error").or(page.get("status"));
    let said = said.and_then(Value::as_str).unwrap_or("no answer");
    // The path of the file stands before what is wrong with it.
    said.rsplit(": ").next().unwrap_or(said).to_owned()
}
