//! A schema that is made anew has what the live one has, of later migrations too.

use read_model::schemas::SchemasLock;
use sqlx::{Connection as _, PgConnection};

use crate::fixture::Projection;
use crate::schemas::{in_both, made};

/// All that the catalogue knows of a schema's tables, without the schema's name.
const STRUCTURE: &str = "
    WITH class AS (
        SELECT class.* FROM pg_class AS class WHERE relnamespace = '{schema}'::regnamespace AND relkind = 'r'
    )
    SELECT replace(text, '{schema}', 'S') FROM (
        SELECT relname || ' ' || coalesce(reloptions::text, '') || relrowsecurity::text || coalesce(relacl::text, '') AS text
        FROM class
        UNION ALL
        SELECT relname || ' ' || attname || ' ' || format_type(atttypid, atttypmod) || attnotnull::text
               || attcollation::text || attcompression::text || attnum::text || coalesce(attstattarget::text, '') || coalesce(pg_get_expr(adbin, adrelid), '')
        FROM class JOIN pg_attribute ON attrelid = class.oid AND attnum > 0 AND NOT attisdropped
        LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
        UNION ALL
        SELECT relname || ' ' || pg_get_indexdef(indexrelid) FROM class JOIN pg_index ON indrelid = class.oid
        UNION ALL
        SELECT relname || ' ' || conname || pg_get_constraintdef(pg_constraint.oid)
        FROM class JOIN pg_constraint ON conrelid = class.oid
        UNION ALL
        SELECT relname || ' ' || pg_get_triggerdef(pg_trigger.oid) FROM class JOIN pg_trigger ON tgrelid = class.oid
        UNION ALL
        SELECT pg_policies::text FROM pg_policies WHERE schemaname = '{schema}'
        UNION ALL
        SELECT nspacl::text FROM pg_namespace WHERE nspname = '{schema}'
        UNION ALL
        SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = '{schema}'::regnamespace
    ) AS structure
    ORDER BY 1";

#[tokio::test]
async fn it_is_as_the_live_one_is() {
    let url = devstack::test::database().await.url;
    let projection = Projection::at(&url).await;
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let later = "CREATE FUNCTION conversations_v1.one() RETURNS integer LANGUAGE sql RETURN 1;
                 ALTER TABLE conversations_v1.event ADD COLUMN weight integer DEFAULT 7 CHECK (weight > 0);
                 ALTER TABLE conversations_v1.event DROP COLUMN weight;
                 ALTER TABLE conversations_v1.checkpoint ADD COLUMN mark bit(8) NOT NULL DEFAULT 0::bit(8)";
    sqlx::raw_sql(later).execute(&mut connection).await.unwrap();
    let lock = SchemasLock::take(&projection.model).await.unwrap().unwrap();
    let building = made(&lock, &[], 1).await;
    let schemas = [building.live(), building.name()];
    let [live, made] = in_both(&url, STRUCTURE, schemas).await;
    assert!(live.len() > 60, "{}", live.len());
    assert_eq!(
        made.iter()
            .filter(|line| !live.contains(line))
            .collect::<Vec<_>>(),
        live.iter()
            .filter(|line| !made.contains(line))
            .collect::<Vec<_>>()
    );
}
