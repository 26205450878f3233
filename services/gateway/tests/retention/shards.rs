//! Each database has rounds of its own.

use std::time::Duration;

use gateway::retention::{ResumePoints, RoundError, Tally};
use read_model::{ReadModelConfig, ShardConfig};
use runtime::shutdown::Shutdown;

use crate::callers::session;
use crate::stack::{SECOND, START, Stack, TENANT, eventually, rules};

#[tokio::test(flavor = "multi_thread")]
async fn a_round_processes_the_tenants_of_its_database() {
    let [first, shard] = [devstack::test::database().await.url, devstack::test::database().await.url];
    let mut stack = Stack::start_with(ReadModelConfig {
        shards: vec![ShardConfig {
            name: "eu".to_owned(),
            database_url: shard,
            tenants: vec![TENANT.to_owned()],
            replica_urls: Vec::new(),
        }],
        ..ReadModelConfig::new(first)
    })
    .await;
    stack.agent("bot", rules(0, 0, 60)).await;
    stack.create("bot", "old", session("s"), START).await;
    stack.clock.set(START.0 + 3_600 * SECOND);
    // The first database has no tenant with rules.
    assert_eq!(stack.round().await, Tally::default());
    stack.deps.read_model = stack.deps.read_model.shard("eu").unwrap();
    let rows_wait = std::mem::replace(&mut stack.limits.rows_wait, Duration::ZERO);
    // The shard has no schema yet.
    let early = stack.round_from(&mut ResumePoints::default()).await;
    assert!(matches!(early, Err(RoundError::ReadModel(_))), "{early:?}");
    let projector = Shutdown::new();
    stack.start_projector_of("eu", &projector).await;
    stack.limits.rows_wait = rows_wait;
    let erased = Tally { agents: 1, changed: 1, ..Tally::default() };
    let round =
        eventually("a round of the shard", || async { stack.round_from(&mut ResumePoints::default()).await.ok() });
    assert_eq!(round.await, erased);
    assert_eq!(stack.erased(&["old"]).await, ["old"]);
    projector.begin();
}
