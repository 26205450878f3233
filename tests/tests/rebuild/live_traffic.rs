//! A rebuild, a rollback, and the removal of old schemas: no read fails or is stale, and both schemas have the same
//! rows.

use serde_json::Value;

use crate::fixture::{Fixture, names, schema};
use crate::load::Load;

#[tokio::test(flavor = "multi_thread")]
async fn reads_and_writes_continue_during_a_rebuild() {
    let fixture = Fixture::start().await;
    fixture.fill(40, 20).await;
    fixture.wait_for_rows().await;
    let load = Load::start(&fixture.agent).await;
    load.run_rounds(10).await;
    let planned = fixture.rebuild(&["conversations", "--dry-run"]).await;
    assert_eq!(planned.code, Some(0), "{planned:?}");
    assert!(planned.stdout.contains("next to conversations_v1"), "{planned:?}");
    let steps = fixture.rebuild_steps(&["conversations"]).await;
    assert_eq!(names(&steps), ["begun", "copied", "indexed", "compared", "switched"]);
    assert_eq!(fixture.live().await, schema(2));
    load.run_rounds(30).await;
    let steps = fixture.rebuild_steps(&["rollback", "--dry-run"]).await;
    assert_eq!(names(&steps), ["wouldSwitch"]);
    let steps = fixture.rebuild_steps(&["rollback"]).await;
    assert_eq!(names(&steps), ["switched"]);
    assert_eq!(fixture.live().await, schema(1));
    load.run_rounds(30).await;
    let steps = fixture.rebuild_steps(&["drop", "--dry-run"]).await;
    assert_eq!(names(&steps), ["wouldDrop"]);
    let steps = fixture.rebuild_steps(&["drop"]).await;
    assert_eq!(names(&steps), ["dropped"]);
    load.run_rounds(10).await;
    // Another rebuild, including the new commits; the first schema is kept for a rollback.
    fixture.rebuild_steps(&["conversations"]).await;
    assert_eq!(fixture.live().await, schema(2));
    load.run_rounds(30).await;
    let steps = fixture.rebuild_steps(&["conversations"]).await;
    assert_eq!(names(&steps).last(), Some(&"dropped"), "{steps:?}");
    load.run_rounds(30).await;
    let outcome = load.finish().await;
    println!(
        "through 3 rebuilds, a rollback and 2 drops: {} writes, {} reads, {} failed or stale",
        outcome.writes,
        outcome.reads,
        outcome.errors.len()
    );
    assert_eq!(outcome.errors, Vec::<String>::new());
    let listed = fixture.rebuild_steps(&["list"]).await;
    assert_eq!(
        listed.iter().filter_map(state).collect::<Vec<_>>(),
        [("conversations_v2", "kept"), ("conversations_v3", "live")]
    );
    // After a rollback and its reversal, both schemas are up to date and equal.
    fixture.wait_for_rows().await;
    fixture.rebuild_steps(&["rollback"]).await;
    fixture.wait_for_rows().await;
    let none: [&str; 0] = [];
    assert_eq!(fixture.differing(schema(2), schema(3)).await, none);
}

/// The name and the role of a listed schema.
fn state(listed: &Value) -> Option<(&str, &str)> {
    Some((text(listed, "schema")?, text(listed, "state")?))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rate_limits_copying() {
    const RATE: &str = "40";
    let fixture = Fixture::start().await;
    // With its creation and its documents each has 28 events: 112 in all, of which 2 may be copied at once.
    fixture.fill(4, 20).await;
    fixture.wait_for_rows().await;
    let steps = fixture.rebuild_steps(&["conversations", "--rate", RATE]).await;
    let copied = steps.iter().find(|step| text(step, "step") == Some("copied"));
    let seconds = copied.and_then(|step| step.get("seconds")?.as_f64());
    assert!(seconds >= Some(110.0 / 40.0), "{steps:?}");
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

#[tokio::test(flavor = "multi_thread")]
async fn differences_block_the_switch_unless_accepted() {
    let fixture = Fixture::of(tests::stack::Setup::tasks().with_own_postgres()).await;
    fixture.fill(4, 10).await;
    fixture.wait_for_rows().await;
    let mut fixture = fixture;
    let url = fixture.stack.servers.database_url().to_owned();
    let psql = fixture.stack.servers.postgres_mut().tool("psql");
    let damage = "UPDATE conversations_v1.event SET kind = 9 WHERE conversation_id = 'old-2' AND version = 3
                  RETURNING jsonb_build_object('version', version)";
    let damage = format!("WITH damage AS ({damage}) SELECT * FROM damage");
    tests::checker::query(&psql, &url, &damage).await.expect("damage");
    let refused = fixture.rebuild(&["conversations"]).await;
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(refused.stdout.contains("/old-2"), "{refused:?}");
    assert_eq!(fixture.live().await, schema(1));
    let steps = fixture.rebuild_steps(&["conversations", "--accept-differences"]).await;
    assert_eq!(names(&steps), ["begun", "compared", "differ", "switched"]);
    assert_eq!(fixture.live().await, schema(2));
    fixture.wait_for_rows().await;
    // The creation, ten messages, and seven events of documents.
    assert_eq!(fixture.agent.version("old-2").await, 18);
}
