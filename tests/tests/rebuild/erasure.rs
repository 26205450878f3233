//! A rebuild restores nothing that was erased before it or during it; and an erasure also deletes from kept schemas.

use read_model::schemas::{Phase, SchemaState, list};
use tests::events::{document_put, user};
use tests::eventually::eventually;
use tests::stack::Setup;
use tonic::Code;

use crate::fixture::{Fixture, schema};

const SECRET: &str = "open sesame";
const CONVERSATIONS: [&str; 4] = ["before", "while", "after", "stays"];

/// Events with a text; and conversations that are not erased, and their total.
async fn rows_with_text(fixture: &mut Fixture, schema: &str) -> usize {
    let url = fixture.stack.servers.database_url().to_owned();
    let psql = fixture.stack.servers.postgres_mut().tool("psql");
    let sql = format!(
        "SELECT jsonb_build_object('id', conversation_id) FROM {schema}.event
         WHERE conversation_id IN ('before', 'while', 'after')
         UNION ALL
         SELECT jsonb_build_object('id', conversation_id) FROM {schema}.document
         WHERE conversation_id IN ('before', 'while', 'after')
         UNION ALL
         SELECT jsonb_build_object('id', conversation_id) FROM {schema}.conversation
         WHERE conversation_id IN ('before', 'while', 'after') AND (status <> 3 OR title IS NOT NULL)"
    );
    let found = tests::checker::query(&psql, &url, &sql).await;
    found.expect("rows").len()
}

#[tokio::test(flavor = "multi_thread")]
async fn erased_conversations_stay_erased() {
    let mut fixture = Fixture::of(Setup::tasks().with_own_postgres()).await;
    fixture.fill(20, 20).await;
    for id in CONVERSATIONS {
        fixture.agent.create(id).await;
        for _ in 0..5 {
            fixture.agent.append(id, vec![user(SECRET)]).await;
        }
        let secret = format!("\"{SECRET}\"");
        fixture.agent.append(id, vec![document_put("k", &secret)]).await;
    }
    let erase = async |fixture: &Fixture, id: &str| {
        let target = fixture.agent.target(id);
        fixture.agent.try_erase(target).await.expect("an erasure");
    };
    erase(&fixture, "before").await;
    fixture.wait_for_rows().await;
    // The new schema has its rows at the time of the erasure, when no rebuild runs.
    let mut rebuild = fixture.begin();
    eventually("a schema that follows", || async {
        let schemas = list(&fixture.model).await.ok()?;
        let is_there =
            |one: &read_model::schemas::SchemaInfo| one.state == SchemaState::Building && one.phase == Phase::Following;
        let is_over = fixture.live().await == schema(2);
        (is_over || schemas.iter().any(is_there)).then_some(())
    })
    .await;
    rebuild.kill();
    erase(&fixture, "while").await;
    let ended = fixture.rebuild(&["conversations", "--accept-differences"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let now = fixture.live().await;
    erase(&fixture, "after").await;
    fixture.wait_for_rows().await;
    for id in ["before", "while", "after"] {
        let read = fixture.agent.try_get(fixture.agent.eventual_target(id)).await;
        assert_eq!(read.expect_err(id).code(), Code::NotFound);
    }
    assert_eq!(fixture.agent.version("stays").await, 7);
    assert_eq!(rows_with_text(&mut fixture, &now.to_string()).await, 0);
    assert_eq!(rows_with_text(&mut fixture, "conversations_v1").await, 0, "kept");
    fixture.rebuild_steps(&["rollback"]).await;
    fixture.wait_for_rows().await;
    assert_eq!(rows_with_text(&mut fixture, "conversations_v1").await, 0, "after a rollback");
}
