//! Three nats-servers, three replicas: the leader killed, cut off from everybody, and all restarted in turn.

use crate::ground::Ground;
use crate::strike::bout;
use crate::three::{SERVERS, Three, deposed, erased_again, leader};
use crate::workload::Workload;

/// Acknowledgements while a server is away, and before the next one is restarted.
const PASSED: usize = 40;

/// What befalls the cluster.
#[derive(Debug, Clone, Copy)]
enum Fault {
    KillLeader,
    PartLeader,
    RollingRestart,
}

#[tokio::test(flavor = "multi_thread")]
async fn three_replicas_lose_double_and_reorder_nothing() {
    let (three, mut ground) = Three::start().await;
    let faults = [Fault::KillLeader, Fault::PartLeader, Fault::RollingRestart];
    let bout = bout(&mut ground, &faults, async |ground, load, fault| {
        strike(ground, load, &three, fault).await;
    });
    let bout = bout.await;
    let kept = erased_again(&ground).await;
    let bout = bout.with("removed commits that a server still held", kept.to_string());
    let title = "three nats-servers: leader killed, leader cut off, rolling restart";
    bout.judge(title, &mut ground).await;
}

async fn strike(ground: &mut Ground, load: &Workload, three: &Three, fault: Fault) {
    match fault {
        Fault::KillLeader => {
            let leader = leader(ground).await;
            ground.stack.servers.cluster_mut()[leader].kill();
            load.acknowledged(PASSED).await;
            restart(ground, leader).await;
        }
        Fault::PartLeader => {
            let leader = leader(ground).await;
            three.part(leader);
            deposed(ground, leader).await;
            load.acknowledged(PASSED).await;
            three.join(ground, leader).await;
        }
        Fault::RollingRestart => {
            for server in 0..SERVERS {
                restart(ground, server).await;
                load.acknowledged(PASSED).await;
            }
        }
    }
}

/// Stops a server cleanly, unless it was killed, and starts it; it has caught up then.
async fn restart(ground: &mut Ground, server: usize) {
    let server = &mut ground.stack.servers.cluster_mut()[server];
    server.restart().await.expect("NATS again");
}
