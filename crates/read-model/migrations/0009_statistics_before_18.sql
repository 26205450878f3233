-- Migration 9 for Postgres before 18, which cannot clear statistics. There are none yet: no earlier program ran on these versions with a
-- migration after this one, so the tables are empty.
DO $$
DECLARE place record;
BEGIN
    FOR place IN
        SELECT namespace.nspname, class.relname, attribute.attname
        FROM pg_attribute AS attribute
        JOIN pg_class AS class ON class.oid = attribute.attrelid AND class.relkind = 'r'
        JOIN pg_namespace AS namespace ON namespace.oid = class.relnamespace
        WHERE namespace.nspname IN (SELECT schema.name FROM hansard.schema AS schema) AND (
                  class.relname IN ('conversation', 'conversation_change') AND attribute.attname IN (
                      'user_id', 'session_id', 'head', 'title', 'metadata_json', 'client_context'
                  )
                  OR class.relname = 'event' AND attribute.attname IN ('tool_name', 'call_id', 'request_digest', 'body')
              )
              OR namespace.nspname = 'hansard' AND class.relname = 'provider_log'
              AND attribute.attname IN ('request', 'reply')
    LOOP
        EXECUTE format(
            'ALTER TABLE %I.%I ALTER COLUMN %I SET STATISTICS 0', place.nspname, place.relname, place.attname
        );
    END LOOP;
END
$$;
