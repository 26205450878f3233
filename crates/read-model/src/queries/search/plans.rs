//! Plans of the search: each way to the candidates uses its index, with many documents and without statistics of terms.

use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _};

use super::statements::{Way, statement};
use crate::{ReadModel, ReadModelConfig};

/// 200 tenants of 200 documents, each with a term of its own and a common one.
const ROWS: &str = "
    INSERT INTO search_v1.document (version, recorded_at, tenant_id, conversation_id, terms)
    SELECT n % 100 + 1, timestamptz '2026-01-01' + n * interval '1 s', 't' || n % 200, 'c' || n / 200,
           ARRAY[n, -(n % 200) - 1]
    FROM generate_series(0, 39999) AS n;
    INSERT INTO conversations_v1.conversation (
        version, sequence, created_at, last_event_at, partition, created_nanos, status,
        tenant_id, conversation_id, agent_id, session_id, head
    )
    SELECT 1, 1, now(), now(), 0, 0, 1, 't' || n % 200, 'c' || n / 200, 'a', 's' || n % 7, ''
    FROM generate_series(0, 39999) AS n;";

/// Explains a statement of the search with our connection options.
async fn plan(url: &str, sql: &str, bitmaps: &str, arguments: &str) -> String {
    let mut reader = PgConnection::connect(url).await.unwrap();
    for statement in [
        "SET search_path = conversations_v1",
        "SET plan_cache_mode = force_generic_plan",
        "SET enable_seqscan = off",
        "SET enable_hashjoin = off",
        "SET enable_mergejoin = off",
        "SET ROLE hansard_reader",
        "SET hansard.tenant = 't7'",
    ] {
        reader.execute(statement).await.unwrap();
    }
    let set = format!("SET enable_bitmapscan = {bitmaps}");
    reader.execute(AssertSqlSafe(set)).await.unwrap();
    let prepare = format!("PREPARE query AS {sql}");
    reader.execute(AssertSqlSafe(prepare)).await.unwrap();
    let explain = format!(
        "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF) EXECUTE query ({arguments})"
    );
    let explain = sqlx::raw_sql(AssertSqlSafe(explain));
    let lines = explain.fetch_all(&mut reader).await.unwrap();
    let lines: Vec<String> = lines.iter().map(|row| row.get(0)).collect();
    lines.join("\n")
}

#[tokio::test]
async fn every_way_to_candidates_has_its_index() {
    let url = devstack::test::database().await.url;
    let model = ReadModel::connect_lazy(&ReadModelConfig::new(url.clone())).unwrap();
    model.migrate().await.unwrap();
    let mut owner = PgConnection::connect(&url).await.unwrap();
    for statement in [ROWS, "VACUUM ANALYZE"] {
        sqlx::raw_sql(statement).execute(&mut owner).await.unwrap();
    }
    let arguments = |owner: &str| {
        format!(
            "'t7', '{{-8}}', '{{}}', '-infinity', 'infinity', '', 0, 20, 5001, '{{a}}', '{{1,2}}', {owner}"
        )
    };
    for (way, index, bitmaps, owner) in [
        (Way::Terms, "document_by_term", "on", "NULL"),
        (Way::Time, "document_by_time", "off", "NULL"),
        (Way::Owner(0), "document_pkey", "off", "'s1'"),
    ] {
        let sql = statement(way, true, 0).unwrap();
        let plan = plan(&url, sql, bitmaps, &arguments(owner)).await;
        assert!(plan.contains(index), "{way:?}\n{plan}");
        assert!(!plan.contains("Seq Scan"), "{way:?}\n{plan}");
    }
}
