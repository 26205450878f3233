//! A rebuild that is killed or stopped at any step goes on where it was, and comes to the same.

use read_model::projections::conversations::lease;
use read_model::schemas::{Phase, SchemaState, list};
use tests::eventually::eventually;
use tests::stack::Setup;

use crate::ground::{Ground, schema};
use crate::load::Load;

/// What a rebuild is caught at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum At {
    /// Some of the record is copied.
    Copying,
    /// Rows are there; indexes may be.
    Indexing,
    /// It follows the record.
    Following,
    /// It is over.
    End,
}

async fn at(ground: &Ground) -> Option<At> {
    let schemas = list(&ground.model).await.ok()?;
    let building = schemas
        .iter()
        .find(|one| one.state == SchemaState::Building);
    let Some(building) = building else {
        return (ground.live().await != schema(1)).then_some(At::End);
    };
    match building.phase {
        Phase::Copying => {
            let model = ground.model.in_schema(building.name);
            let checkpoints = lease::checkpoints(&model).await.ok()?;
            let has_some = checkpoints.iter().any(|one| one.sequence.0 > 0);
            has_some.then_some(At::Copying)
        }
        Phase::Indexing => Some(At::Indexing),
        Phase::Following => Some(At::Following),
        Phase::Whole => Some(At::End),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_goes_on_where_it_was_killed() {
    let ground = Ground::start().await;
    ground.fill(60, 50).await;
    ground.projected().await;
    let load = Load::start(&ground.agent).await;
    let mut caught = Vec::new();
    for wanted in [At::Copying, At::Indexing, At::Following] {
        let mut rebuild = ground.begin();
        let reached = eventually("a step of the rebuild", || async {
            at(&ground).await.filter(|reached| *reached >= wanted)
        })
        .await;
        rebuild.kill();
        caught.push(reached);
    }
    println!("killed at {caught:?}");
    assert!(caught.first() <= Some(&At::Indexing), "{caught:?}");
    let ended = ground.rebuild(&["conversations"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    load.goes_on(20).await;
    let outcome = load.finish().await;
    assert_eq!(outcome.mistakes, Vec::<String>::new());
    ground.projected().await;
    ground.rebuilt(&["rollback"]).await;
    ground.projected().await;
    let none: [&str; 0] = [];
    assert_eq!(ground.differing(schema(1), schema(2)).await, none);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_stops_when_it_is_told_to() {
    let ground = Ground::start().await;
    ground.fill(30, 20).await;
    ground.projected().await;
    let mut rebuild = ground.begin();
    eventually("some copied", || at(&ground)).await;
    let stopped = rebuild.stop().await;
    // It may have been done just then.
    let is_over = at(&ground).await == Some(At::End);
    assert_eq!(stopped.success(), is_over, "{}", rebuild.log());
    let second = ground.rebuild(&["conversations"]).await;
    assert_eq!(second.code, Some(0), "{second:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_goes_on_after_postgres_was_killed_in_a_copy() {
    let mut ground = Ground::of(Setup::tasks().with_own_postgres()).await;
    ground.fill(60, 50).await;
    ground.projected().await;
    let mut rebuild = ground.begin();
    let reached = eventually("some copied", || at(&ground)).await;
    let postgres = ground.stack.servers.postgres_mut();
    postgres.kill();
    postgres.restart().await.expect("Postgres again");
    rebuild.kill();
    println!("Postgres killed at {reached:?}");
    ground.projected().await;
    let again = ground.rebuild(&["conversations"]).await;
    assert_eq!(again.code, Some(0), "{again:?}");
    ground.projected().await;
    ground.rebuilt(&["rollback"]).await;
    ground.projected().await;
    let none: [&str; 0] = [];
    assert_eq!(ground.differing(schema(1), schema(2)).await, none);
}
