//! Sets the tenant of a reader's connection. The row-level security policies of the migrations compare it with each row.

use domain::TenantId;
use sqlx::postgres::PgConnection;

/// The setting.
pub(crate) const TENANT: &str = "hansard.tenant";
const SET_TENANT: &str = "SELECT set_config('hansard.tenant', $1, false)";

/// Limits a reader's connection to the rows of a tenant, until another is set. Before the first call it sees no rows.
pub(crate) async fn set_tenant(connection: &mut PgConnection, tenant: &TenantId) -> Result<(), sqlx::Error> {
    let query = sqlx::query(SET_TENANT).bind(tenant.as_str());
    query.execute(connection).await.map(drop)
}

/// Uses statements that omit the tenant, which only this crate can run.
#[cfg(test)]
mod tests {
    use std::time::Duration;

    use devstack::test::database;
    use domain::{TenantAccess, TenantId};
    use sqlx::Row as _;
    use sqlx::postgres::PgArguments;
    use tokio::time::timeout;

    use crate::config::ReadModelConfig;
    use crate::error::ReadModelError;
    use crate::model::ReadModel;

    /// The tables of the projections, and whether they have a column `tenant_id`.
    const TABLES: &str = "
        SELECT format('%I.%I', schema.nspname, class.relname),
               EXISTS (SELECT FROM pg_attribute
                       WHERE attrelid = class.oid AND attname = 'tenant_id' AND NOT attisdropped)
        FROM pg_class AS class
        JOIN pg_namespace AS schema ON schema.oid = class.relnamespace
        WHERE (schema.nspname LIKE 'conversations\\_v%' OR schema.nspname = 'search_v1' OR class.relname IN ('provider_log', 'model_usage', 'usage_correction'))
              AND class.relkind IN ('r', 'p', 'm', 'f')
        ORDER BY 1";
    /// The only tables without tenants that readers may read. They are empty here.
    const CHECKPOINTS: [&str; 2] = ["conversations_v1.checkpoint", "search_v1.checkpoint"];
    /// Views that readers may read.
    const VIEWS: &str = "
        SELECT format('%I.%I', schema.nspname, class.relname)
        FROM pg_class AS class
        JOIN pg_namespace AS schema ON schema.oid = class.relnamespace
        WHERE class.relkind = 'v' AND has_table_privilege('hansard_reader', class.oid, 'SELECT')
              AND schema.nspname NOT IN ('pg_catalog', 'information_schema')
        ORDER BY 1";
    const INSUFFICIENT_PRIVILEGE: &str = "42501";
    const TENANTS: usize = 7;

    fn access(tenant: &str) -> TenantAccess {
        TenantAccess::grant(TenantId::parse(tenant).unwrap())
    }

    /// Leaks the statement: a test has few of them.
    fn statement(sql: String) -> &'static str {
        sql.leak()
    }

    async fn owner(model: &ReadModel, sql: String) -> Vec<sqlx::postgres::PgRow> {
        model.fetch(statement(sql), PgArguments::default).await.unwrap()
    }

    /// The first column of a statement that runs for a tenant.
    async fn reader(model: &ReadModel, tenant: &str, sql: &'static str) -> Result<Vec<String>, ReadModelError> {
        let rows = model.read(&access(tenant), sql, PgArguments::default).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// A database with one row of each tenant (`t0`, `t1`, …) in every table that has tenants; and its tables.
    async fn filled(connections_max: u32) -> (ReadModel, Vec<(String, bool)>) {
        let config = ReadModelConfig { connections_max, ..ReadModelConfig::new(database().await.url) };
        let model = ReadModel::connect_lazy(&config).unwrap();
        model.migrate().await.unwrap();
        let tables: Vec<(String, bool)> =
            owner(&model, TABLES.to_owned()).await.iter().map(|row| (row.get(0), row.get(1))).collect();
        for (table, _) in tables.iter().filter(|(_, has_tenants)| *has_tenants) {
            fill(&model, table).await;
        }
        (model, tables)
    }

    /// Inserts rows with a value for each column that needs one.
    async fn fill(model: &ReadModel, table: &str) {
        let columns = format!(
            "SELECT attname::text, CASE WHEN attname = 'tenant_id' THEN '''t'' || n' WHEN attname = 'block_id' THEN 'n'
                 WHEN atttypid = 'text'::regtype THEN '''x''' WHEN atttypid = 'bytea'::regtype THEN '''x''::bytea'
                 WHEN atttypid = 'boolean'::regtype THEN 'false' WHEN atttypid = 'uuid'::regtype THEN 'gen_random_uuid()'
                 WHEN atttypid = 'bigint[]'::regtype THEN '''{{}}''::bigint[]'
                 WHEN atttypid = 'integer[]'::regtype THEN '''{{}}''::integer[]'
                 WHEN atttypid = 'date'::regtype THEN 'current_date' WHEN atttypid = 'timestamptz'::regtype THEN 'now()'
                 ELSE '1' END
             FROM pg_attribute
             WHERE attrelid = '{table}'::regclass AND attnum > 0 AND attnotnull AND NOT attisdropped"
        );
        let columns = owner(model, columns).await;
        let part = |index: usize| {
            let values: Vec<String> = columns.iter().map(|row| row.get(index)).collect();
            values.join(", ")
        };
        // A trigger may have inserted the rows of sums.
        let insert = format!(
            "INSERT INTO {table} ({}) SELECT {} FROM generate_series(0, {}) AS n ON CONFLICT DO NOTHING",
            part(0),
            part(1),
            TENANTS - 1
        );
        owner(model, insert).await;
    }

    #[tokio::test]
    async fn a_statement_without_its_tenant_sees_that_tenant_alone() {
        let (model, tables) = filled(2).await;
        assert!(tables.iter().filter(|(_, has_tenants)| *has_tenants).count() >= 5);
        for (table, has_tenants) in &tables {
            let column = if *has_tenants { "tenant_id" } else { "'seen'" };
            let all = statement(format!("SELECT {column} FROM {table}"));
            let found = (reader(&model, "t0", all).await, reader(&model, "nobody", all).await);
            let refused = || Err(ReadModelError::Refused { sqlstate: INSUFFICIENT_PRIVILEGE.to_owned() });
            let expected = if *has_tenants {
                (Ok(vec!["t0".to_owned()]), Ok(Vec::new()))
            } else if CHECKPOINTS.contains(&table.as_str()) {
                (Ok(Vec::new()), Ok(Vec::new()))
            } else {
                (refused(), refused())
            };
            assert_eq!(found, expected, "{table} needs its policy, or is not for readers");
        }
    }

    #[tokio::test]
    async fn readers_have_no_views() {
        let (model, _) = filled(1).await;
        let views: Vec<String> = owner(&model, VIEWS.to_owned()).await.iter().map(|row| row.get(0)).collect();
        assert_eq!(views, [""; 0], "a view has no policy of its own");
    }

    #[tokio::test]
    async fn a_reader_without_a_tenant_sees_nothing() {
        let (model, tables) = filled(1).await;
        for (table, _) in tables.iter().filter(|(_, has_tenants)| *has_tenants) {
            let mut pooled = model.acquire_reader().await.unwrap();
            let sql = statement(format!("SELECT tenant_id FROM {table}"));
            let rows = sqlx::query(sql).fetch_all(pooled.connection()).await.unwrap();
            assert_eq!(rows.len(), 0, "{table}");
        }
    }

    #[tokio::test]
    async fn a_reader_cannot_write() {
        let (model, tables) = filled(1).await;
        for (table, has_tenants) in &tables {
            let mut statements = vec![
                format!("DELETE FROM {table}"),
                format!("TRUNCATE {table}"),
                format!("INSERT INTO {table} DEFAULT VALUES"),
                format!("ALTER TABLE {table} DISABLE ROW LEVEL SECURITY"),
                format!("DROP POLICY tenant ON {table}"),
                "RESET ROLE; SELECT 1".to_owned(),
            ];
            if *has_tenants {
                statements.push(format!("UPDATE {table} SET tenant_id = 't0'"));
            }
            for sql in statements {
                let outcome = reader(&model, "t0", statement(sql.clone())).await;
                assert!(matches!(outcome, Err(ReadModelError::Refused { .. })), "{sql}: {outcome:?}");
            }
            let count: i64 = owner(&model, format!("SELECT count(*) FROM {table}")).await.first().unwrap().get(0);
            assert_eq!(count, if *has_tenants { 7 } else { 0 }, "{table}");
        }
    }

    #[tokio::test]
    async fn a_reset_does_not_restore_the_login() {
        let (model, _) = filled(1).await;
        for reset in ["RESET ROLE", "RESET ALL", "DISCARD ALL"] {
            let mut pooled = model.acquire_reader().await.unwrap();
            sqlx::query(reset).execute(pooled.connection()).await.unwrap();
            let role = sqlx::query("SELECT current_user::text").fetch_one(pooled.connection());
            assert_eq!(role.await.unwrap().get::<String, _>(0), crate::READER_ROLE, "{reset}");
        }
    }

    #[tokio::test]
    async fn tenants_take_turns_on_one_connection() {
        let (model, _) = filled(1).await;
        for turn in 0..300 {
            // Each tenant reads twice in a row; all use one prepared statement.
            let tenant = format!("t{}", turn / 2 % TENANTS);
            let found = reader(&model, &tenant, "SELECT tenant_id FROM event").await;
            assert_eq!(found, Ok(vec![tenant]));
            if turn % 50 == 0 {
                // A failed statement has no effect on later ones.
                let failed = reader(&model, "t0", "SELECT (1 / 0)::text").await;
                assert!(failed.is_err());
            }
        }
        let count = "SELECT count(*) FROM pg_stat_activity
                     WHERE datname = current_database() AND application_name = 'hansard'";
        let count: i64 = owner(&model, count.to_owned()).await.first().unwrap().get(0);
        assert_eq!(count, 1, "owner and readers share the bound");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn many_tenants_share_few_connections() {
        const TASKS: usize = 50;
        const READS: usize = 40;
        let (model, _) = filled(4).await;
        let tasks = (0..TASKS).map(|task| {
            let model = model.clone();
            tokio::spawn(async move {
                for turn in 0..READS {
                    let tenant = format!("t{}", (task + turn / 4) % TENANTS);
                    let read = reader(&model, &tenant, "SELECT tenant_id FROM conversation");
                    // Some reads are cancelled at any point.
                    let deadline = match turn % 4 {
                        0 => Duration::from_micros(u64::try_from(task * 20).unwrap()),
                        _ => Duration::from_secs(30),
                    };
                    match timeout(deadline, read).await {
                        Ok(found) => assert_eq!(found, Ok(vec![tenant])),
                        Err(_) => assert_eq!(turn % 4, 0),
                    }
                }
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
    }
}
