-- Additive: older programs do not read the index.
-- Users find conversations that sessions named and the users claimed. Every schema gets the index; one that is being filled gets it with
-- the other indexes.
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
            'CREATE INDEX conversation_by_name ON %I.conversation (tenant_id, agent_id, user_id, conversation_id)
                 WHERE user_id IS NOT NULL AND conversation_id >= ''named:'' AND conversation_id < ''named;''',
            place.nspname
        );
    END LOOP;
END
$$;
