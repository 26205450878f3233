//! A writer is killed while it overwrites erased commits; another one finishes.

use domain::{ConversationId, ConversationKey, Status, TenantId};
use event_log::Record;
use serde_json::Value;
use tests::events::user;
use tests::eventually::eventually;
use tests::settings::Role;
use tests::stack::Setup;

use crate::cli::{json, run};

/// Enough commits that overwriting takes seconds.
const COMMITS: u64 = 1_000;

#[tokio::test(flavor = "multi_thread")]
async fn another_writer_finishes_an_interrupted_erasure() {
    let mut stack = Setup::processes(tests::program!()).start().await;
    let agent = stack.agent("acme", "support").await;
    agent.create("c").await;
    for n in 1..COMMITS {
        agent.append("c", vec![user(format!("text {n}"))]).await;
    }
    let record = Record::open(tests::settings::record(&stack.servers)).await.expect("a record");
    let key = ConversationKey {
        tenant: TenantId::parse("acme").expect("an id"),
        conversation: ConversationId::parse("c").expect("an id"),
    };
    let erasing = tokio::spawn({
        let agent = agent.clone();
        async move { agent.try_erase(agent.target("c")).await }
    });
    eventually("a tombstone", || async {
        let last = record.last(&key).await.ok()??;
        let head = last.open_head().ok()?;
        (head.status == Status::Erased).then_some(())
    })
    .await;
    stack.writer.kill();
    // The call may have been answered before the kill.
    drop(erasing.await.expect("an end"));
    let left = record.commits_of(&key).await.expect("a count");
    assert!((2..=COMMITS + 1).contains(&left), "{left} commits");

    let status = status(&stack).await;
    assert_eq!(status["record"]["erasuresPending"], 1, "{status}");
    assert!(status["record"]["erasuresPendingSince"].is_string());
    let shown = run(&stack, "status --no-roles").await.stdout;
    assert!(shown.contains("erasures    1 in progress"), "{shown}");

    let mut other = stack.another(Role::Writer);
    other.start().await;
    eventually("the end of the removal", || async {
        let is_alone = record.commits_of(&key).await == Ok(1);
        (is_alone && record.count_pending_erasures().await == Ok(0)).then_some(())
    })
    .await;
    let receipt = json(&stack, "erase conversation c --tenant acme --json").await;
    assert_eq!(receipt["commits"], 0, "{receipt}");
    other.stop().await;
}

async fn status(stack: &tests::stack::Stack) -> Value {
    let ended = run(stack, "status --json --no-roles").await;
    serde_json::from_str(&ended.stdout).expect("JSON")
}
