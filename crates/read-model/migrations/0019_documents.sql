-- The present values of documents. A document belongs to a conversation; those of agents and owners have conversations of their own,
-- whose rows have status 4, so that no listing returns them. Earlier records contain no documents: nothing is computed here.

-- Sums of storage count conversations, without documents; the bytes are those of both.
CREATE OR REPLACE FUNCTION hansard.sum_storage() RETURNS trigger
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
         SELECT coalesce(sum(sign) FILTER (WHERE status <> 4), 0), sum(sign * stored_bytes), partition, tenant_id, agent_id
         FROM (%s) AS changes
         WHERE status <> 3
         GROUP BY tenant_id, agent_id, partition
         HAVING coalesce(sum(sign) FILTER (WHERE status <> 4), 0) <> 0 OR sum(sign * stored_bytes) <> 0
         ORDER BY tenant_id, agent_id, partition
         ON CONFLICT (tenant_id, agent_id, partition) DO UPDATE
         SET conversations = held.conversations + excluded.conversations,
             stored_bytes = held.stored_bytes + excluded.stored_bytes',
        TG_TABLE_SCHEMA, changes
    );
    RETURN NULL;
END
$$;

DO $$
DECLARE name text;
BEGIN
    FOR name IN SELECT schema.name FROM hansard.schema AS schema WHERE schema.projection = 'conversations' ORDER BY schema.name LOOP
        EXECUTE format(
            'CREATE TABLE %1$I.document (
                 version bigint NOT NULL, -- of its last event
                 created_at timestamptz NOT NULL,
                 updated_at timestamptz NOT NULL,
                 expires_at timestamptz,
                 tenant_id text COLLATE "C" NOT NULL,
                 conversation_id text COLLATE "C" NOT NULL,
                 agent_id text COLLATE "C" NOT NULL,
                 owner text COLLATE "C" NOT NULL, -- kind and id; empty: it belongs to a conversation with other events
                 namespace text COLLATE "C" NOT NULL, -- each label is followed by U+0001
                 key text COLLATE "C" NOT NULL,
                 value_json text COLLATE "C" NOT NULL,
                 PRIMARY KEY (tenant_id, conversation_id, namespace, key)
             )
             WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
             ALTER TABLE %1$I.document
                 ALTER COLUMN owner SET STATISTICS 0,
                 ALTER COLUMN namespace SET STATISTICS 0,
                 ALTER COLUMN key SET STATISTICS 0,
                 ALTER COLUMN value_json SET STATISTICS 0;
             CREATE INDEX document_by_namespace ON %1$I.document (tenant_id, agent_id, owner, namespace, key);
             CREATE INDEX document_by_time ON %1$I.document
                 (tenant_id, agent_id, owner, updated_at, conversation_id, namespace, key);
             CREATE INDEX document_by_expiry ON %1$I.document (tenant_id, expires_at) WHERE expires_at IS NOT NULL;
             ALTER TABLE %1$I.document ENABLE ROW LEVEL SECURITY;
             CREATE POLICY tenant ON %1$I.document FOR SELECT TO hansard_reader
                 USING (tenant_id = current_setting(''hansard.tenant'', true));
             GRANT SELECT ON %1$I.document TO hansard_reader',
            name
        );
    END LOOP;
END
$$;
