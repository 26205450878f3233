//! A rebuild that is killed or stopped at any step resumes there, with the same result.

use read_model::projections::conversations::lease;
use read_model::schemas::{Phase, SchemaState, list};
use tests::eventually::eventually;
use tests::stack::Setup;

use crate::fixture::{Fixture, schema};
use crate::load::Load;

/// The step at which a rebuild is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// A part of the record is copied.
    Copying,
    /// Rows are complete; indexes may exist.
    Indexing,
    /// It follows the record.
    Following,
    /// It has ended.
    End,
}

async fn step_of(fixture: &Fixture) -> Option<Step> {
    let schemas = list(&fixture.model).await.ok()?;
    let building = schemas.iter().find(|one| one.state == SchemaState::Building);
    let Some(building) = building else {
        return (fixture.live().await != schema(1)).then_some(Step::End);
    };
    match building.phase {
        Phase::Copying => {
            let model = fixture.model.in_schema(building.name);
            let checkpoints = lease::checkpoints(&model).await.ok()?;
            let has_some = checkpoints.iter().any(|one| one.sequence.0 > 0);
            has_some.then_some(Step::Copying)
        }
        Phase::Indexing => Some(Step::Indexing),
        Phase::Following => Some(Step::Following),
        Phase::Whole => Some(Step::End),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_rebuilds_resume() {
    let fixture = Fixture::start().await;
    fixture.fill(60, 50).await;
    fixture.wait_for_rows().await;
    let load = Load::start(&fixture.agent).await;
    let mut caught = Vec::new();
    for wanted in [Step::Copying, Step::Indexing, Step::Following] {
        let mut rebuild = fixture.begin();
        let reached = eventually("a step of the rebuild", || async {
            step_of(&fixture).await.filter(|reached| *reached >= wanted)
        })
        .await;
        rebuild.kill();
        caught.push(reached);
    }
    println!("killed at {caught:?}");
    assert!(caught.first() <= Some(&Step::Indexing), "{caught:?}");
    let ended = fixture.rebuild(&["conversations"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    load.run_rounds(20).await;
    let outcome = load.finish().await;
    assert_eq!(outcome.errors, Vec::<String>::new());
    fixture.wait_for_rows().await;
    fixture.rebuild_steps(&["rollback"]).await;
    fixture.wait_for_rows().await;
    let none: [&str; 0] = [];
    assert_eq!(fixture.differing(schema(1), schema(2)).await, none);
}

#[tokio::test(flavor = "multi_thread")]
async fn rebuilds_stop_on_a_signal() {
    let fixture = Fixture::start().await;
    fixture.fill(30, 20).await;
    fixture.wait_for_rows().await;
    let mut rebuild = fixture.begin();
    eventually("some copied", || step_of(&fixture)).await;
    let stopped = rebuild.stop().await;
    // It may have ended just before.
    let is_over = step_of(&fixture).await == Some(Step::End);
    assert_eq!(stopped.success(), is_over, "{}", rebuild.log());
    let second = fixture.rebuild(&["conversations"]).await;
    assert_eq!(second.code, Some(0), "{second:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rebuilds_resume_after_postgres_was_killed_in_a_copy() {
    let mut fixture = Fixture::of(Setup::tasks().with_own_postgres()).await;
    fixture.fill(60, 50).await;
    fixture.wait_for_rows().await;
    let mut rebuild = fixture.begin();
    let reached = eventually("some copied", || step_of(&fixture)).await;
    let postgres = fixture.stack.servers.postgres_mut();
    postgres.kill();
    postgres.restart().await.expect("Postgres again");
    rebuild.kill();
    println!("Postgres killed at {reached:?}");
    fixture.wait_for_rows().await;
    let again = fixture.rebuild(&["conversations"]).await;
    assert_eq!(again.code, Some(0), "{again:?}");
    fixture.wait_for_rows().await;
    fixture.rebuild_steps(&["rollback"]).await;
    fixture.wait_for_rows().await;
    let none: [&str; 0] = [];
    assert_eq!(fixture.differing(schema(1), schema(2)).await, none);
}
