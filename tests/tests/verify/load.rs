//! Under load: concurrent changes are no differences, and a repair loses nothing.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures::future::join_all;
use tests::events::user;

use crate::fixture::Fixture;

const WRITERS: usize = 12;
const RUNS: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn there_are_no_false_alarms_under_load() {
    let mut fixture = Fixture::start().await;
    fixture.create_conversation("spoiled").await;
    fixture.settle().await;
    let (over, appended) = (AtomicBool::new(false), AtomicU64::new(0));
    let agent = fixture.agent.clone();
    let write = async |writer: usize| {
        let mut round = 0;
        while !over.load(Ordering::Relaxed) {
            // Each exists for a while, and is erased.
            let conversation = format!("w{writer}-{}", round / 50);
            if round % 50 == 0 {
                agent.create(&conversation).await;
            }
            agent.append(&conversation, vec![user("x"), user("y")]).await;
            if round % 50 == 49 && writer.is_multiple_of(2) {
                agent.try_erase(agent.target(&conversation)).await.unwrap();
            }
            round += 1;
            appended.fetch_add(1, Ordering::Relaxed);
        }
    };
    let verify = async {
        for _ in 0..RUNS {
            fixture.check_no_differences("").await;
            fixture.check_no_differences("--digests").await;
            fixture.check_no_differences("--sample 20").await;
        }
        fixture.sql("UPDATE event SET kind = 9 WHERE conversation_id = 'spoiled'").await;
        let repaired = fixture.verify("--repair").await;
        assert_eq!(repaired.ended.code, Some(0), "{repaired:?}");
        assert_eq!(repaired.summary["differing"], 1, "{repaired:?}");
        over.store(true, Ordering::Relaxed);
    };
    tokio::join!(verify, join_all((0..WRITERS).map(write)));
    let appended = appended.into_inner();
    assert!(appended > 100, "{appended} commits are no load");
    println!("{appended} commits while {} runs looked", 3 * RUNS + 1);
    fixture.settle().await;
    let output = fixture.check_no_differences("").await;
    assert_eq!(output.summary["unsettled"], 0);
    fixture.check_no_differences("--digests").await;
}
