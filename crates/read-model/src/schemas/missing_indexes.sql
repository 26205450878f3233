-- The statements that create the indexes of schema $1 that $2 lacks, of the tables in $3 or of all others. Primary keys are
-- first. The indexes of a partitioned table are created last: they consist of those of its partitions.
WITH source AS (
    SELECT index.indexrelid, class.relname AS index_name, parent.relname AS table_name,
           key.conname, pg_get_constraintdef(key.oid) AS key_text
    FROM pg_index AS index
    JOIN pg_class AS class ON class.oid = index.indexrelid
    JOIN pg_class AS parent ON parent.oid = index.indrelid
    JOIN pg_namespace AS schema ON schema.oid = parent.relnamespace
    LEFT JOIN pg_constraint AS key ON key.conindid = index.indexrelid AND key.contype IN ('p', 'u', 'x')
    WHERE schema.nspname = $1::text AND parent.relkind IN ('r', 'p') AND NOT parent.relispartition
      AND (parent.relname = ANY ($3::text[])) = $4::boolean
), made AS (
    SELECT class.relname AS made_name, coalesce(parent.relname, class.relname) AS table_name,
           coalesce(substr(class.relname, 1 + length(parent.relname)), '') AS suffix
    FROM pg_class AS class
    JOIN pg_namespace AS schema ON schema.oid = class.relnamespace
    LEFT JOIN pg_inherits ON inhrelid = class.oid
    LEFT JOIN pg_class AS parent ON parent.oid = inhparent
    WHERE schema.nspname = $2::text AND class.relkind IN ('r', 'p')
)
SELECT index_name || suffix AS name, CASE
           WHEN conname IS NOT NULL
           THEN format('ALTER TABLE %I.%I ADD CONSTRAINT %I ', $2::text, made_name, conname || suffix) || key_text
           ELSE replace(
               replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON '),
               format(' INDEX %I ON %I.%I ', index_name, $1::text, table_name),
               format(' INDEX %I ON %I.%I ', index_name || suffix, $2::text, made_name)
           )
       END AS statement
FROM source JOIN made USING (table_name)
WHERE to_regclass(format('%I.%I', $2::text, index_name || suffix)) IS NULL
ORDER BY conname IS NULL, suffix = '', made_name, index_name
