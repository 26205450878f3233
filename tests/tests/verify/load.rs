//! While everything runs: what moves is no difference, and a repair loses nothing.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures::future::join_all;
use tests::events::user;

use crate::ground::Ground;

const WRITERS: usize = 12;
const RUNS: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn there_are_no_false_alarms_under_load() {
    let mut ground = Ground::start().await;
    ground.converse("spoiled").await;
    ground.settle().await;
    let (over, appended) = (AtomicBool::new(false), AtomicU64::new(0));
    let agent = ground.agent.clone();
    let write = async |writer: usize| {
        let mut round = 0;
        while !over.load(Ordering::Relaxed) {
            // Each lives for a while, and is erased.
            let conversation = format!("w{writer}-{}", round / 50);
            if round % 50 == 0 {
                agent.create(&conversation).await;
            }
            agent
                .append(&conversation, vec![user("x"), user("y")])
                .await;
            if round % 50 == 49 && writer.is_multiple_of(2) {
                agent.try_erase(agent.target(&conversation)).await.unwrap();
            }
            round += 1;
            appended.fetch_add(1, Ordering::Relaxed);
        }
    };
    let verify = async {
        for _ in 0..RUNS {
            ground.check_whole("").await;
            ground.check_whole("--digests").await;
            ground.check_whole("--sample 20").await;
        }
        ground
            .sql("UPDATE event SET kind = 9 WHERE conversation_id = 'spoiled'")
            .await;
        let repaired = ground.verify("--repair").await;
        assert_eq!(repaired.ended.code, Some(0), "{repaired:?}");
        assert_eq!(repaired.summary["differing"], 1, "{repaired:?}");
        over.store(true, Ordering::Relaxed);
    };
    tokio::join!(verify, join_all((0..WRITERS).map(write)));
    let appended = appended.into_inner();
    assert!(appended > 100, "{appended} commits are no load");
    println!("{appended} commits while {} runs looked", 3 * RUNS + 1);
    ground.settle().await;
    let said = ground.check_whole("").await;
    assert_eq!(said.summary["unsettled"], 0);
    ground.check_whole("--digests").await;
}
