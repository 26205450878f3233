//! Plans of the search: each way to the candidates uses its index, with many documents and without statistics of terms.

use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _};

use super::statements::{OwnerColumn, Shape, Way, blocks_statement, documents_statement};
use crate::{ReadModel, ReadModelConfig};

/// 200 tenants of 10 blocks of 20 documents, each with a term of its own and a common one.
const ROWS: &str = "
    INSERT INTO search_v1.document (block_id, version, recorded_at, tenant_id, conversation_id, terms)
    SELECT n % 200 * 10 + n / 4000, n % 100 + 1, timestamptz '2026-01-01' + n * interval '1 s', 't' || n % 200, 'c' || n / 200,
           ARRAY[n, -(n % 200) - 1]
    FROM generate_series(0, 39999) AS n;
    INSERT INTO search_v1.block (block_id, first_at, last_at, partition, term_count, is_open, tenant_id, filter)
    SELECT n, timestamptz '2026-01-01', timestamptz '2026-01-01' + n * interval '1 s', 0, 40, false, 't' || n / 10,
           repeat('x', 800)::bytea
    FROM generate_series(0, 1999) AS n;
    INSERT INTO conversations_v1.conversation (
        version, sequence, created_at, last_event_at, partition, created_nanos, status,
        tenant_id, conversation_id, agent_id, session_id, head
    )
    SELECT 1, 1, now(), now(), 0, 0, 1, 't' || n % 200, 'c' || n / 200, 'a', 's' || n % 7, ''
    FROM generate_series(0, 39999) AS n;";
/// The shape of a query of one word.
const WORD: Shape = Shape { has_all: true, groups: 0 };

/// Explains a statement of the search with our connection options.
async fn plan(url: &str, sql: &str, arguments: &str) -> String {
    let mut reader = PgConnection::connect(url).await.unwrap();
    for statement in [
        "SET search_path = conversations_v1",
        "SET plan_cache_mode = force_generic_plan",
        "SET enable_seqscan = off",
        "SET enable_bitmapscan = off",
        "SET enable_hashjoin = off",
        "SET enable_mergejoin = off",
        "SET ROLE hansard_reader",
        "SET hansard.tenant = 't7'",
    ] {
        reader.execute(statement).await.unwrap();
    }
    let prepare = format!("PREPARE query AS {sql}");
    reader.execute(AssertSqlSafe(prepare)).await.unwrap();
    let statement = format!("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF) EXECUTE query ({arguments})");
    let explain = sqlx::raw_sql(AssertSqlSafe(statement));
    let lines: Vec<String> = explain.fetch_all(&mut reader).await.unwrap().iter().map(|row| row.get(0)).collect();
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
    let word = "'t7', '{-8}', '{}', '-infinity', 'infinity', '', 0, 20, '{a}', '{1,2}'";
    let blocks = "'t7', '-infinity', 'infinity', 'infinity', 9223372036854775807, 100, '{1,2,3,4,5,6}'";
    let of_blocks = Way::Blocks(None);
    let of_owner = Way::Owner(OwnerColumn(0));
    for (sql, index, arguments) in [
        (blocks_statement(WORD), "block_by_time", blocks.to_owned()),
        (documents_statement(of_blocks, WORD), "document_by_block", format!("{word}, NULL, '{{70,71}}'")),
        (documents_statement(of_owner, WORD), "document_pkey", format!("{word}, 's1'")),
    ] {
        let plan = plan(&url, sql.unwrap(), &arguments).await;
        assert!(plan.contains(index), "{plan}");
        assert!(!plan.contains("Seq Scan"), "{plan}");
    }
}
