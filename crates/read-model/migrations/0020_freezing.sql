-- Rows of events and indexed documents never change, so the first vacuum of a page freezes it. Otherwise a later vacuum reads and writes
-- the whole table again, before transaction ids wrap around. Such a vacuum is due when 100,000 new rows are not frozen.
DO $$
DECLARE place record;
BEGIN
    FOR place IN
        SELECT namespace.nspname, class.relname
        FROM pg_class AS class
        JOIN pg_namespace AS namespace ON namespace.oid = class.relnamespace
        WHERE class.relkind = 'r' AND (
                  namespace.nspname IN (SELECT schema.name FROM hansard.schema AS schema)
                  AND (class.relname = 'event' OR class.relname LIKE 'event\_p__')
                  OR namespace.nspname = 'search_v1' AND class.relname = 'document'
              )
    LOOP
        EXECUTE format(
            'ALTER TABLE %I.%I SET (autovacuum_freeze_min_age = 0, autovacuum_vacuum_insert_threshold = 100000)',
            place.nspname, place.relname
        );
    END LOOP;
END
$$;
