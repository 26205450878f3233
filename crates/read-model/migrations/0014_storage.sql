-- What each conversation stores, and what those of each agent store together: stored bytes are the encodings of a conversation's
-- events and 512 bytes a commit. Erased conversations store nothing.

-- Adds what a statement changed of a schema's conversations to its sums, in the same transaction. Sums are kept apart by
-- partition: projectors of several partitions never wait for each other.
CREATE FUNCTION hansard.sum_storage() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE changes text := CASE TG_OP
    WHEN 'INSERT' THEN 'SELECT 1 AS sign, * FROM after'
    WHEN 'DELETE' THEN 'SELECT -1 AS sign, * FROM before'
    ELSE 'SELECT 1 AS sign, * FROM after UNION ALL SELECT -1, * FROM before'
END;
BEGIN
    EXECUTE format(
        'INSERT INTO %I.storage AS held (conversations, stored_bytes, partition, tenant_id, agent_id)
         SELECT sum(sign), sum(sign * stored_bytes), partition, tenant_id, agent_id
         FROM (%s) AS changes
         WHERE status <> 3
         GROUP BY tenant_id, agent_id, partition
         HAVING sum(sign) <> 0 OR sum(sign * stored_bytes) <> 0
         ORDER BY tenant_id, agent_id, partition
         ON CONFLICT (tenant_id, agent_id, partition) DO UPDATE
         SET conversations = held.conversations + excluded.conversations,
             stored_bytes = held.stored_bytes + excluded.stored_bytes',
        TG_TABLE_SCHEMA, changes
    );
    RETURN NULL;
END
$$;

-- What is projected already is counted here, and what comes counts itself: no projector may move in between. A rebuild that is
-- under way lacks the bytes of what it has copied before this.
DO $$
DECLARE place record;
BEGIN
    FOR place IN
        SELECT namespace.nspname, class.relname
        FROM pg_class AS class
        JOIN pg_namespace AS namespace ON namespace.oid = class.relnamespace
        JOIN hansard.schema AS schema ON schema.name = namespace.nspname
        WHERE class.relkind = 'r' AND class.relname IN ('checkpoint', 'conversation', 'conversation_change')
        ORDER BY namespace.nspname, class.relname
    LOOP
        IF place.relname = 'checkpoint' THEN
            EXECUTE format('LOCK TABLE %I.checkpoint IN SHARE MODE', place.nspname);
            CONTINUE;
        END IF;
        EXECUTE format(
            'ALTER TABLE %I.%I ADD COLUMN stored_bytes bigint NOT NULL DEFAULT 0', place.nspname, place.relname
        );
        IF place.relname <> 'conversation' THEN
            CONTINUE;
        END IF;
        EXECUTE format(
            'UPDATE %1$I.conversation
             SET stored_bytes = stored.bytes
             FROM (
                 SELECT tenant_id, conversation_id,
                        sum(octet_length(body)) + 512 * count(*) FILTER (WHERE commit_index = 0) AS bytes
                 FROM %1$I.event
                 GROUP BY tenant_id, conversation_id
             ) AS stored
             WHERE conversation.tenant_id = stored.tenant_id
               AND conversation.conversation_id = stored.conversation_id
               AND conversation.status <> 3',
            place.nspname
        );
        EXECUTE format(
            'CREATE TABLE %1$I.storage (
                 conversations bigint NOT NULL,
                 stored_bytes bigint NOT NULL,
                 partition integer NOT NULL,
                 tenant_id text COLLATE "C" NOT NULL,
                 agent_id text COLLATE "C" NOT NULL,
                 PRIMARY KEY (tenant_id, agent_id, partition)
             )
             -- A row is changed by nearly every batch of its partition, in place.
             WITH (fillfactor = 20);
             INSERT INTO %1$I.storage (conversations, stored_bytes, partition, tenant_id, agent_id)
             SELECT count(*), sum(stored_bytes), partition, tenant_id, agent_id
             FROM %1$I.conversation
             WHERE status <> 3
             GROUP BY tenant_id, agent_id, partition;
             ALTER TABLE %1$I.storage ENABLE ROW LEVEL SECURITY;
             CREATE POLICY tenant ON %1$I.storage FOR SELECT TO hansard_reader
                 USING (tenant_id = current_setting(''hansard.tenant'', true));
             GRANT SELECT ON %1$I.storage TO hansard_reader;
             CREATE TRIGGER sum_inserted AFTER INSERT ON %1$I.conversation
                 REFERENCING NEW TABLE AS after
                 FOR EACH STATEMENT EXECUTE FUNCTION hansard.sum_storage();
             CREATE TRIGGER sum_updated AFTER UPDATE ON %1$I.conversation
                 REFERENCING OLD TABLE AS before NEW TABLE AS after
                 FOR EACH STATEMENT EXECUTE FUNCTION hansard.sum_storage();
             CREATE TRIGGER sum_deleted AFTER DELETE ON %1$I.conversation
                 REFERENCING OLD TABLE AS before
                 FOR EACH STATEMENT EXECUTE FUNCTION hansard.sum_storage()',
            place.nspname
        );
    END LOOP;
END
$$;
