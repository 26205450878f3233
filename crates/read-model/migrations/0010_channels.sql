-- The channel that owns a conversation: the owner of a history under a caller's key. No row has one yet: records that are
-- older than this hold no channels. Every schema gets the column, and the changes of one that is being filled.
DO $$
DECLARE place record;
BEGIN
    FOR place IN
        SELECT namespace.nspname, class.relname, schema.phase
        FROM pg_class AS class
        JOIN pg_namespace AS namespace ON namespace.oid = class.relnamespace
        JOIN hansard.schema AS schema ON schema.name = namespace.nspname
        WHERE class.relkind = 'r' AND class.relname IN ('conversation', 'conversation_change')
    LOOP
        EXECUTE format('ALTER TABLE %I.%I ADD COLUMN channel_id text COLLATE "C"', place.nspname, place.relname);
        EXECUTE format('ALTER TABLE %I.%I ALTER COLUMN channel_id SET STATISTICS 0', place.nspname, place.relname);
        IF place.relname = 'conversation' AND place.phase IN ('following', 'whole') THEN
            EXECUTE format(
                'CREATE INDEX conversation_by_channel ON %I.conversation
                     (tenant_id, agent_id, channel_id, status, last_event_at, conversation_id)
                     WHERE channel_id IS NOT NULL',
                place.nspname
            );
        END IF;
    END LOOP;
END
$$;
