//! Appends and reads while servers elect a leader, or while most of them do not answer.

use std::cell::Cell;
use std::time::{Duration, Instant};

use domain::Partition;
use event_log::Record;
use tokio::time::sleep;

use crate::cluster::{Cluster, cluster, leader};
use crate::support::{Writer, until};

/// A partition is led by each server in turn, and accepts commits in between.
#[tokio::test]
async fn leaders_are_moved() {
    let Cluster { servers: _servers, record } = Box::pin(cluster()).await;
    let mut writer = Writer::of("c");
    let status = async || record.partition_status(Partition(0)).await.unwrap();
    assert_eq!(status().await.replicas.servers, ["n0", "n1", "n2"]);
    for server in ["n0", "n1", "n2", "n0"] {
        if status().await.replicas.leader.as_deref() != Some(server) {
            let moved = record.move_leader("HANSARD_0", server, Duration::from_secs(20));
            assert_eq!(moved.await, Ok(true), "{server}");
        }
        assert_eq!(status().await.replicas.leader.as_deref(), Some(server));
        writer.append_until_known(&record, server).await;
    }
    let missing = record.move_leader("HANSARD_0", "n9", Duration::from_millis(500));
    assert_ne!(missing.await, Ok(true));
}

/// A read from the leader or an append that begins while no server leads is answered soon after the election, not lost until its
/// timeout.
#[tokio::test(flavor = "multi_thread")]
async fn reads_from_the_leader_and_appends_survive_elections() {
    const READERS: usize = 16;
    const ELECTIONS: usize = 12;
    /// Less than the timeout of a call, 10 s, also on a busy machine, where several elections follow each other.
    const LONGEST: Duration = Duration::from_secs(8);
    let Cluster { servers: _servers, record } = Box::pin(cluster()).await;
    let mut writer = Writer::of("c");
    writer.append_until_known(&record, "x").await;
    let reading = async |_: usize| {
        loop {
            let begun = Instant::now();
            let last = record.last_from_leader(&writer.key).await;
            assert_eq!(last.map(|last| last.is_some()), Ok(true));
            assert!(begun.elapsed() < LONGEST, "{:?}", begun.elapsed());
        }
    };
    let mut other = Writer::of("d");
    let appending = async {
        for number in 0.. {
            let begun = Instant::now();
            other.append(&record, &number.to_string()).await;
            assert!(begun.elapsed() < LONGEST, "{:?}", begun.elapsed());
        }
    };
    let electing = async {
        for server in ["n0", "n1", "n2"].into_iter().cycle().take(ELECTIONS) {
            let status = record.partition_status(Partition(0)).await.unwrap();
            if status.replicas.leader.as_deref() != Some(server) {
                let moved = record.move_leader("HANSARD_0", server, Duration::from_secs(20));
                assert_eq!(moved.await, Ok(true), "{server}");
            }
        }
    };
    tokio::select! {
        () = electing => {}
        () = appending => {}
        _ = futures::future::join_all((0..READERS).map(reading)) => {}
    }
}

/// A commit that most replicas do not receive yet is neither stored nor lost, and the leader refuses another copy of it. The append
/// continues until they answer.
#[tokio::test(flavor = "multi_thread")]
async fn an_append_waits_for_replicas() {
    /// Longer than a number of attempts, less than the timeout of a call, 10 s.
    const FROZEN: Duration = Duration::from_secs(4);
    let Cluster { mut servers, .. } = Box::pin(cluster()).await;
    let found = Cell::new(None);
    until("a leader", || async {
        found.set(leader(&servers[0]).await);
        found.get().is_some()
    })
    .await;
    let leading = found.get().unwrap();
    let record = Record::open(Cluster::config(&servers[leading..=leading], 1)).await.unwrap();
    let mut writer = Writer::of("c");
    writer.append_until_known(&record, "x").await;
    let mut others: Vec<_> = servers.iter_mut().collect();
    others.remove(leading);
    for server in &mut others {
        server.pause();
    }
    let thaw = async {
        sleep(FROZEN).await;
        for server in &mut others {
            server.resume();
        }
    };
    let begun = Instant::now();
    let ((), sequence) = tokio::join!(thaw, writer.append(&record, "y"));
    assert!(begun.elapsed() >= FROZEN);
    let last = record.last_from_leader(&writer.key).await.unwrap().unwrap();
    assert_eq!(last.position.sequence, sequence);
}
