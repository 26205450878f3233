//! A rebuilt schema has the structure of the live one, including later migrations.

use read_model::schemas::SchemasLock;

use crate::fixture::{Projection, execute};
use crate::schemas::{in_both, made};

/// The structure of a schema from the catalogue, without the name of the schema.
pub(crate) const STRUCTURE: &str = "
    WITH class AS (
        SELECT class.* FROM pg_class AS class WHERE relnamespace = '{schema}'::regnamespace AND relkind IN ('r', 'p')
    )
    SELECT replace(text, '{schema}', 'S') FROM (
        SELECT relname || ' ' || coalesce(reloptions::text, '') || relrowsecurity::text || coalesce(relacl::text, '')
               || coalesce(pg_get_partkeydef(oid), '') || coalesce(pg_get_expr(relpartbound, oid), '') AS text
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

/// The lines of each side that the other lacks.
pub(crate) fn differences(one: &[String], other: &[String]) -> [Vec<String>; 2] {
    let missing = |lines: &[String], other: &[String]| -> Vec<String> {
        let missing = lines.iter().filter(|line| !other.contains(line));
        missing.cloned().collect()
    };
    [missing(one, other), missing(other, one)]
}

#[tokio::test]
async fn a_rebuild_clones_the_structure() {
    let url = devstack::test::database().await.url;
    let projection = Projection::at(&url).await;
    let later = "CREATE FUNCTION conversations_v1.one() RETURNS integer LANGUAGE sql RETURN 1;
                 ALTER TABLE conversations_v1.event ADD COLUMN weight integer DEFAULT 7 CHECK (weight > 0);
                 ALTER TABLE conversations_v1.event DROP COLUMN weight;
                 ALTER TABLE conversations_v1.checkpoint ADD COLUMN mark bit(8) NOT NULL DEFAULT 0::bit(8)";
    execute(&url, later).await;
    let lock = SchemasLock::take(&projection.model).await.unwrap().unwrap();
    let building = made(&lock, &[], 1).await;
    let schemas = [building.live(), building.name()];
    let [live, made] = in_both(&url, STRUCTURE, schemas).await;
    assert!(live.len() > 60, "{}", live.len());
    assert_eq!(differences(&live, &made), [[""; 0]; 2]);
}
