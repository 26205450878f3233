//! A rebuild brings nothing back that was erased, before it or while it was under way; and an erasure reaches what is kept.

use read_model::schemas::{Phase, SchemaState, list};
use tests::events::user;
use tests::eventually::eventually;
use tests::stack::Setup;
use tonic::Code;

use crate::ground::{Ground, schema};

const SECRET: &str = "open sesame";
const CONVERSATIONS: [&str; 4] = ["before", "while", "after", "stays"];

/// Events that hold a text, and conversations that are not erased, of those that were.
async fn left(ground: &mut Ground, schema: &str) -> usize {
    let url = ground.stack.servers.database_url().to_owned();
    let psql = ground.stack.servers.postgres_mut().tool("psql");
    let sql = format!(
        "SELECT jsonb_build_object('id', conversation_id) FROM {schema}.event
         WHERE conversation_id IN ('before', 'while', 'after')
         UNION ALL
         SELECT jsonb_build_object('id', conversation_id) FROM {schema}.conversation
         WHERE conversation_id IN ('before', 'while', 'after') AND (status <> 3 OR title IS NOT NULL)"
    );
    let found = tests::checker::query(&psql, &url, &sql).await;
    found.expect("rows").len()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_was_erased_comes_back() {
    let mut ground = Ground::of(Setup::tasks().with_own_postgres()).await;
    ground.fill(20, 20).await;
    for id in CONVERSATIONS {
        ground.agent.create(id).await;
        for _ in 0..5 {
            ground.agent.append(id, vec![user(SECRET)]).await;
        }
    }
    let erase = async |ground: &Ground, id: &str| {
        let target = ground.agent.target(id);
        ground.agent.try_erase(target).await.expect("an erasure");
    };
    erase(&ground, "before").await;
    ground.projected().await;
    // Its rows are in the new schema when it is erased, and the rebuild is not there to see it.
    let mut rebuild = ground.begin();
    eventually("a schema that follows", || async {
        let schemas = list(&ground.model).await.ok()?;
        let is_there = |one: &read_model::schemas::SchemaInfo| {
            one.state == SchemaState::Building && one.phase == Phase::Following
        };
        let is_over = ground.live().await == schema(2);
        (is_over || schemas.iter().any(is_there)).then_some(())
    })
    .await;
    rebuild.kill();
    erase(&ground, "while").await;
    let ended = ground
        .rebuild(&["conversations", "--accept-differences"])
        .await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let now = ground.live().await;
    erase(&ground, "after").await;
    ground.projected().await;
    for id in ["before", "while", "after"] {
        let read = ground.agent.try_get(ground.agent.eventual_target(id)).await;
        assert_eq!(read.expect_err(id).code(), Code::NotFound);
    }
    assert_eq!(ground.agent.version("stays").await, 6);
    assert_eq!(left(&mut ground, &now.to_string()).await, 0);
    assert_eq!(left(&mut ground, "conversations_v1").await, 0, "kept");
    ground.rebuilt(&["rollback"]).await;
    ground.projected().await;
    assert_eq!(
        left(&mut ground, "conversations_v1").await,
        0,
        "after a rollback"
    );
}
