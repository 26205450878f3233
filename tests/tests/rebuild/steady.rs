//! A rebuild, a way back, and the end of what was left: no read fails or is stale, and both schemas hold the same.

use serde_json::Value;

use crate::ground::{Ground, names, schema};
use crate::load::Load;

#[tokio::test(flavor = "multi_thread")]
async fn reads_and_writes_go_on_throughout() {
    let ground = Ground::start().await;
    ground.fill(40, 20).await;
    ground.projected().await;
    let load = Load::start(&ground.agent).await;
    load.goes_on(10).await;
    let planned = ground.rebuild(&["conversations", "--dry-run"]).await;
    assert_eq!(planned.code, Some(0), "{planned:?}");
    assert!(
        planned.stdout.contains("next to conversations_v1"),
        "{planned:?}"
    );
    let steps = ground.rebuilt(&["conversations"]).await;
    assert_eq!(
        names(&steps),
        ["begun", "copied", "indexed", "compared", "switched"]
    );
    assert_eq!(ground.live().await, schema(2));
    load.goes_on(30).await;
    let steps = ground.rebuilt(&["rollback", "--dry-run"]).await;
    assert_eq!(names(&steps), ["wouldSwitch"]);
    let steps = ground.rebuilt(&["rollback"]).await;
    assert_eq!(names(&steps), ["switched"]);
    assert_eq!(ground.live().await, schema(1));
    load.goes_on(30).await;
    let steps = ground.rebuilt(&["drop", "--dry-run"]).await;
    assert_eq!(names(&steps), ["wouldDrop"]);
    let steps = ground.rebuilt(&["drop"]).await;
    assert_eq!(names(&steps), ["dropped"]);
    load.goes_on(10).await;
    // Another one, of what has come meanwhile; the first is kept for a way back.
    ground.rebuilt(&["conversations"]).await;
    assert_eq!(ground.live().await, schema(2));
    load.goes_on(30).await;
    let steps = ground.rebuilt(&["conversations"]).await;
    assert_eq!(names(&steps).last(), Some(&"dropped"), "{steps:?}");
    load.goes_on(30).await;
    let outcome = load.finish().await;
    println!(
        "through 3 rebuilds, a rollback and 2 drops: {} writes, {} reads, {} failed or stale",
        outcome.writes,
        outcome.reads,
        outcome.mistakes.len()
    );
    assert_eq!(outcome.mistakes, Vec::<String>::new());
    let listed = ground.rebuilt(&["list"]).await;
    let states: Vec<(&str, &str)> = listed
        .iter()
        .filter_map(|one| Some((text(one, "schema")?, text(one, "state")?)))
        .collect();
    assert_eq!(
        states,
        [("conversations_v2", "kept"), ("conversations_v3", "live")]
    );
    // Brought up to date by a way back and forth, both are the same.
    ground.projected().await;
    ground.rebuilt(&["rollback"]).await;
    ground.projected().await;
    let none: [&str; 0] = [];
    assert_eq!(ground.differing(schema(2), schema(3)).await, none);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_bounds_the_copying() {
    const RATE: &str = "40";
    let ground = Ground::start().await;
    // With its beginning each has 21 events: 84 in all, of which 2 may go at once.
    ground.fill(4, 20).await;
    ground.projected().await;
    let steps = ground.rebuilt(&["conversations", "--rate", RATE]).await;
    let copied = steps
        .iter()
        .find(|step| text(step, "step") == Some("copied"));
    let seconds = copied.and_then(|step| step.get("seconds")?.as_f64());
    assert!(seconds >= Some(82.0 / 40.0), "{steps:?}");
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_difference_is_named_and_nothing_is_switched_unless_it_is_accepted() {
    let ground = Ground::of(tests::stack::Setup::tasks().with_own_postgres()).await;
    ground.fill(4, 10).await;
    ground.projected().await;
    let mut ground = ground;
    let url = ground.stack.servers.database_url().to_owned();
    let psql = ground.stack.servers.postgres_mut().tool("psql");
    let damage =
        "UPDATE conversations_v1.event SET kind = 9 WHERE conversation_id = 'old-2' AND version = 3
                  RETURNING jsonb_build_object('version', version)";
    let damage = format!("WITH damage AS ({damage}) SELECT * FROM damage");
    tests::checker::query(&psql, &url, &damage)
        .await
        .expect("damage");
    let refused = ground.rebuild(&["conversations"]).await;
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(refused.stdout.contains("/old-2"), "{refused:?}");
    assert_eq!(ground.live().await, schema(1));
    let steps = ground
        .rebuilt(&["conversations", "--accept-differences"])
        .await;
    assert_eq!(names(&steps), ["begun", "compared", "differ", "switched"]);
    assert_eq!(ground.live().await, schema(2));
    ground.projected().await;
    assert_eq!(ground.agent.version("old-2").await, 11);
}
