-- The statements that create the indexes of schema $1 that $2 lacks, of the tables in $3 or of all others. Primary keys are
-- first. The indexes of a partitioned table include those of its partitions.
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
)
SELECT index_name AS name, CASE
           WHEN conname IS NOT NULL
           THEN format('ALTER TABLE %I.%I ADD CONSTRAINT %I ', $2::text, table_name, conname) || key_text
           ELSE replace(
               replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON '),
               format(' INDEX %I ON %I.%I ', index_name, $1::text, table_name),
               format(' INDEX %I ON %I.%I ', index_name, $2::text, table_name)
           )
       END AS statement
FROM source
WHERE to_regclass(format('%I.%I', $2::text, index_name)) IS NULL
ORDER BY conname IS NULL, table_name, index_name
