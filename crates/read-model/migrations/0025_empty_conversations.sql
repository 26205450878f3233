-- Additive: older programs do not read the index.
-- Conversations of sessions that have nothing but their creation: quotas do not count them, and retention erases them. Every schema gets the
-- index; one that is being filled gets it with the other indexes.
DO $$
DECLARE place record;
BEGIN
    FOR place IN
        SELECT namespace.nspname
        FROM pg_class AS class
        JOIN pg_namespace AS namespace ON namespace.oid = class.relnamespace
        JOIN hansard.schema AS schema ON schema.name = namespace.nspname
        WHERE class.relkind IN ('r', 'p') AND class.relname = 'conversation' AND schema.phase IN ('following', 'whole')
    LOOP
        EXECUTE format(
            'CREATE INDEX conversation_empty ON %I.conversation (tenant_id, agent_id, conversation_id)
                 WHERE version = 1 AND session_id IS NOT NULL AND forked_from IS NULL AND status = 1',
            place.nspname
        );
    END LOOP;
END
$$;
