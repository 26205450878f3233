//! Statistics of the planner outlive an erasure, so there are none of columns with personal content.

use read_model::schemas::SchemasLock;
use sqlx::{Connection as _, PgConnection};

use crate::fixture::Projection;
use crate::schemas::made;

/// Columns without personal content.
const WITHOUT_PERSONAL_CONTENT: [&str; 19] = [
    "checkpoint.chain",
    "checkpoint.holder",
    "checkpoint.record_id",
    "conversation.forked_from",
    "event.model",
    "parked_conversation.reason",
    "projection.live_schema",
    "projection.name",
    "projector.holder",
    "provider_log.finish_reason",
    "provider_log.model",
    "provider_log.model_server",
    "provider_log.outcome",
    "provider_log_checkpoint.holder",
    "schema.name",
    "schema.phase",
    "schema.projection",
    "shard_tenant.shard",
    "usage_day.model",
];

/// Columns of text or bytes with statistics, except ids that tombstones contain.
const WITH_STATISTICS: &str = "
    SELECT DISTINCT relname || '.' || attname
    FROM pg_attribute
    JOIN pg_class ON pg_class.oid = attrelid AND relkind IN ('r', 'p') AND attnum > 0 AND NOT attisdropped
    JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE (nspname LIKE 'conversations%' OR nspname = 'hansard') AND relname <> 'migration'
      AND atttypid IN ('text'::regtype, 'bytea'::regtype, 'json'::regtype, 'jsonb'::regtype)
      AND attname NOT IN ('tenant_id', 'conversation_id', 'agent_id')
      AND coalesce(attstattarget, -1) <> 0
    ORDER BY 1";

#[tokio::test]
async fn personal_columns_have_no_statistics() {
    let url = devstack::test::database().await.url;
    let projection = Projection::at(&url).await;
    let lock = SchemasLock::take(&projection.model).await.unwrap().unwrap();
    let _building = made(&lock, &[], 1).await;
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let columns: Vec<String> = sqlx::query_scalar(WITH_STATISTICS).fetch_all(&mut connection).await.unwrap();
    assert_eq!(columns, WITHOUT_PERSONAL_CONTENT);
}
