//! A rebuild that is killed or stopped at any step resumes there, with the same result.

use read_model::projections::conversations::lease;
use read_model::schemas::{Phase, SchemaState, list};
use tests::eventually::eventually;
use tests::stack::Setup;

use crate::fixture::{Fixture, schema};
use crate::load::Load;

/// The step at which a rebuild is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum At {
    /// A part of the record is copied.
    Copying,
    /// Rows are complete; indexes may exist.
    Indexing,
    /// It follows the record.
    Following,
    /// It has ended.
    End,
}

async fn at(fixture: &Fixture) -> Option<At> {
    let schemas = list(&fixture.model).await.ok()?;
    let building = schemas
        .iter()
        .find(|one| one.state == SchemaState::Building);
    let Some(building) = building else {
        return (fixture.live().await != schema(1)).then_some(At::End);
    };
    match building.phase {
        Phase::Copying => {
            let model = fixture.model.in_schema(building.name);
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
async fn killed_rebuilds_resume() {
    let fixture = Fixture::start().await;
    fixture.fill(60, 50).await;
    fixture.projected().await;
    let load = Load::start(&fixture.agent).await;
    let mut caught = Vec::new();
    for wanted in [At::Copying, At::Indexing, At::Following] {
        let mut rebuild = fixture.begin();
        let reached = eventually("a step of the rebuild", || async {
            at(&fixture).await.filter(|reached| *reached >= wanted)
        })
        .await;
        rebuild.kill();
        caught.push(reached);
    }
    println!("killed at {caught:?}");
    assert!(caught.first() <= Some(&At::Indexing), "{caught:?}");
    let ended = fixture.rebuild(&["conversations"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    load.run_rounds(20).await;
    let outcome = load.finish().await;
    assert_eq!(outcome.errors, Vec::<String>::new());
    fixture.projected().await;
    fixture.rebuilt(&["rollback"]).await;
    fixture.projected().await;
    let none: [&str; 0] = [];
    assert_eq!(fixture.differing(schema(1), schema(2)).await, none);
}

#[tokio::test(flavor = "multi_thread")]
async fn rebuilds_stop_on_a_signal() {
    let fixture = Fixture::start().await;
    fixture.fill(30, 20).await;
    fixture.projected().await;
    let mut rebuild = fixture.begin();
    eventually("some copied", || at(&fixture)).await;
    let stopped = rebuild.stop().await;
    // It may have ended just before.
    let is_over = at(&fixture).await == Some(At::End);
    assert_eq!(stopped.success(), is_over, "{}", rebuild.log());
    let second = fixture.rebuild(&["conversations"]).await;
    assert_eq!(second.code, Some(0), "{second:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rebuilds_resume_after_postgres_was_killed_in_a_copy() {
    let mut fixture = Fixture::of(Setup::tasks().with_own_postgres()).await;
    fixture.fill(60, 50).await;
    fixture.projected().await;
    let mut rebuild = fixture.begin();
    let reached = eventually("some copied", || at(&fixture)).await;
    let postgres = fixture.stack.servers.postgres_mut();
    postgres.kill();
    postgres.restart().await.expect("Postgres again");
    rebuild.kill();
    println!("Postgres killed at {reached:?}");
    fixture.projected().await;
    let again = fixture.rebuild(&["conversations"]).await;
    assert_eq!(again.code, Some(0), "{again:?}");
    fixture.projected().await;
    fixture.rebuilt(&["rollback"]).await;
    fixture.projected().await;
    let none: [&str; 0] = [];
    assert_eq!(fixture.differing(schema(1), schema(2)).await, none);
}
