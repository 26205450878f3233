-- The statements that create schema $2 with the structure of $1, in order: tables, settings, privileges, policies, triggers. A
-- partitioned table of $1 becomes one table.
WITH source AS (
    SELECT pg_namespace.oid, pg_namespace.nspname, pg_namespace.nspacl, pg_namespace.nspowner, $2::text AS made
    FROM pg_namespace WHERE nspname = $1::text
), tables AS (
    SELECT class.*, source.nspname, source.made
    FROM pg_class AS class JOIN source ON source.oid = class.relnamespace
    WHERE class.relkind IN ('r', 'p') AND NOT class.relispartition AND class.relname <> 'conversation_change'
), settings AS (
    -- A partitioned table has no settings: its partitions have them.
    SELECT tables.oid, coalesce(tables.reloptions, (
               SELECT part.reloptions FROM pg_inherits JOIN pg_class AS part ON part.oid = inhrelid
               WHERE inhparent = tables.oid ORDER BY part.relname LIMIT 1
           )) AS reloptions
    FROM tables
)
SELECT statement FROM (
    SELECT 1 AS place, '' AS name, format('CREATE SCHEMA %I', made) AS statement FROM source
    UNION ALL
    SELECT 2, privilege_type, format('GRANT %s ON SCHEMA %I TO %I', privilege_type, made, grantee::regrole::text)
    FROM source, aclexplode(nspacl) WHERE grantee <> nspowner AND grantee <> 0
    UNION ALL
    SELECT 3, proname, replace(pg_get_functiondef(routine.oid), format('%I.', nspname), format('%I.', made))
    FROM pg_proc AS routine JOIN source ON source.oid = routine.pronamespace
    UNION ALL
    SELECT 4, relname, format(
               'CREATE TABLE %I.%I (LIKE %I.%I INCLUDING ALL EXCLUDING INDEXES)', made, relname, nspname, relname
           )
    FROM tables
    UNION ALL
    SELECT 5, relname, format('ALTER TABLE %I.%I SET (%s)', made, relname, array_to_string(settings.reloptions, ', '))
    FROM tables JOIN settings USING (oid) WHERE settings.reloptions IS NOT NULL
    UNION ALL
    SELECT 5, relname, format('ALTER TABLE %I.%I ALTER COLUMN %I SET STATISTICS %s', made, relname, attname, attstattarget)
    FROM tables JOIN pg_attribute ON attrelid = tables.oid AND attnum > 0 AND NOT attisdropped
    WHERE attstattarget IS NOT NULL
    UNION ALL
    SELECT 6, relname, format('ALTER TABLE %I.%I ENABLE ROW LEVEL SECURITY', made, relname)
    FROM tables WHERE relrowsecurity
    UNION ALL
    SELECT 7, relname, format('GRANT %s ON %I.%I TO %I', privilege_type, made, relname, grantee::regrole::text)
    FROM tables, aclexplode(relacl) WHERE grantee <> relowner AND grantee <> 0
    UNION ALL
    SELECT 8, tablename, format(
               'CREATE POLICY %I ON %I.%I AS %s FOR %s TO %s%s%s', policyname, made, tablename, permissive, cmd,
               array_to_string(roles, ', '), ' USING (' || qual || ')', ' WITH CHECK (' || with_check || ')'
           )
    FROM pg_policies JOIN source ON source.nspname = pg_policies.schemaname
    UNION ALL
    SELECT 9, tgname, replace(
               pg_get_triggerdef(trigger.oid), format(' ON %I.%I ', nspname, relname), format(' ON %I.%I ', made, relname)
           )
    FROM tables JOIN pg_trigger AS trigger ON trigger.tgrelid = tables.oid AND NOT trigger.tgisinternal
) AS made
ORDER BY place, name, statement
