//! Three nats-servers with three replicas: the leader killed or partitioned, and all servers restarted in turn.

use tests::{program, settings};

use crate::fixture::{Crowd, Fixture};
use crate::injection::run_with_faults;
use crate::three_servers::{SERVERS, ThreeServers, leader, repeat_erasures, wait_for_new_leaders};
use crate::workload::Workload;

/// Acknowledgements during a server's outage, and before the next restart.
const PASSED: usize = 40;

/// A fault of the cluster.
#[derive(Debug, Clone, Copy)]
enum Fault {
    KillLeader,
    PartLeader,
    RollingRestart,
}

#[tokio::test(flavor = "multi_thread")]
async fn three_replicas_lose_duplicate_and_reorder_nothing() {
    let faults = [Fault::KillLeader, Fault::PartLeader, Fault::RollingRestart];
    let title = "three nats-servers: leader killed, leader cut off, rolling restart";
    disturb(title, Crowd::None, &faults).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_replicas_lose_duplicate_and_reorder_no_batch() {
    let faults = [Fault::KillLeader, Fault::PartLeader];
    let title = "three nats-servers: leader killed, leader cut off, commits in batches";
    disturb(title, Crowd::OfReplicatedPartition, &faults).await;
}

async fn disturb(title: &str, crowd: Crowd, faults: &[Fault]) {
    let (three, mut fixture) = ThreeServers::start().await;
    fixture.crowd = crowd;
    let run = run_with_faults(&mut fixture, faults, async |fixture, load, fault| {
        inject(fixture, load, &three, fault).await;
    })
    .await;
    let kept = repeat_erasures(&fixture).await;
    let run = run.with("removed commits that a server still held", kept.to_string());
    run.check(title, &mut fixture).await;
}

async fn inject(fixture: &mut Fixture, load: &Workload, three: &ThreeServers, fault: Fault) {
    match fault {
        Fault::KillLeader => {
            let leader = leader(fixture).await;
            fixture.stack.servers.cluster_mut()[leader].kill();
            load.wait_for_acknowledgements(PASSED).await;
            restart(fixture, leader).await;
        }
        Fault::PartLeader => {
            let leader = leader(fixture).await;
            three.partition(leader);
            wait_for_new_leaders(fixture, leader).await;
            load.wait_for_acknowledgements(PASSED).await;
            three.join(fixture, leader).await;
        }
        Fault::RollingRestart => {
            let urls = settings::record(&fixture.stack.servers).nats_url;
            for server in 0..SERVERS {
                tokio::join!(read_all(&urls), restart(fixture, server));
                load.wait_for_acknowledgements(PASSED).await;
            }
        }
    }
}

/// A command that reads the record continues when one of its servers restarts.
async fn read_all(urls: &str) {
    let variables = [("HANSARD_RECORD__NATS_URL".to_owned(), urls.to_owned())];
    let ended = program!().run(["tail"], &variables).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(!ended.stdout.is_empty());
}

/// Stops a server gracefully, unless it was killed; starts it and waits until it has caught up.
async fn restart(fixture: &mut Fixture, server: usize) {
    let server = &mut fixture.stack.servers.cluster_mut()[server];
    server.restart().await.expect("NATS again");
}
