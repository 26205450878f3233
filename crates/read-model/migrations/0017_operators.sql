-- What gateways show operators across tenants, and request for them. Their login is a reader, which sees one tenant's rows, so these
-- functions are all that it may ask. None returns content.

-- A schema says nothing of any tenant.
GRANT SELECT ON hansard.schema TO hansard_reader;

CREATE FUNCTION hansard.live_schema() RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT live_schema FROM hansard.projection WHERE name = 'conversations'
$$;

CREATE FUNCTION hansard.live_projectors() RETURNS TABLE (holder text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT holder FROM %I.projector WHERE alive_until > now() ORDER BY holder', hansard.live_schema()
    );
END
$$;

CREATE FUNCTION hansard.partitions_overview()
RETURNS TABLE (partition integer, epoch bigint, sequence bigint, holder text, parked bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT partition, epoch, sequence, CASE WHEN lease_until >= now() THEN holder END,
                (SELECT count(*) FROM %1$I.parked_conversation AS parked WHERE parked.partition = checkpoint.partition)
         FROM %1$I.checkpoint AS checkpoint
         ORDER BY partition', hansard.live_schema()
    );
END
$$;

CREATE FUNCTION hansard.parked_conversations(from_tenant text, page bigint)
RETURNS TABLE (
    tenant_id text, conversation_id text, partition integer, sequence bigint, reason text, attempts integer, commits bigint
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT tenant_id, conversation_id, partition, sequence, reason, attempts,
                (SELECT count(*) FROM %1$I.parked_commit AS waiting
                 WHERE waiting.tenant_id = parked.tenant_id AND waiting.conversation_id = parked.conversation_id)
         FROM %1$I.parked_conversation AS parked
         WHERE tenant_id >= $1
         ORDER BY tenant_id, conversation_id
         LIMIT $2', hansard.live_schema()
    ) USING from_tenant, page;
END
$$;

-- What operators requested for parked conversations at a gateway. A projector takes a request and carries it out once.
CREATE TABLE hansard.parked_request (
    requested_at timestamptz NOT NULL,
    dropped_sequence bigint, -- the waiting commit to drop; NULL: retry all
    tenant_id text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, conversation_id)
);
ALTER TABLE hansard.parked_request ENABLE ROW LEVEL SECURITY;

-- Only for a parked conversation, so there are at most as many requests. Returns whether it is parked.
CREATE FUNCTION hansard.request_parked(tenant text, conversation text, dropped bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE is_parked boolean;
BEGIN
    EXECUTE format(
        'SELECT EXISTS (SELECT FROM %I.parked_conversation WHERE tenant_id = $1 AND conversation_id = $2)',
        hansard.live_schema()
    ) INTO is_parked USING tenant, conversation;
    IF is_parked THEN
        INSERT INTO hansard.parked_request (requested_at, dropped_sequence, tenant_id, conversation_id)
        VALUES (now(), dropped, tenant, conversation)
        ON CONFLICT (tenant_id, conversation_id) DO UPDATE
        SET requested_at = excluded.requested_at, dropped_sequence = excluded.dropped_sequence;
    END IF;
    RETURN is_parked;
END
$$;

REVOKE ALL ON FUNCTION
    hansard.live_schema(), hansard.live_projectors(), hansard.partitions_overview(),
    hansard.parked_conversations(text, bigint), hansard.request_parked(text, text, bigint)
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    hansard.live_projectors(), hansard.partitions_overview(),
    hansard.parked_conversations(text, bigint), hansard.request_parked(text, text, bigint)
    TO hansard_reader;
