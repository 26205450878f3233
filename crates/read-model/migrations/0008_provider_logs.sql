-- What model servers were asked and answered, where an agent's settings have it kept: for debugging. Made from a stream of
-- its own, which is no part of the record, so it stands beside the projections' schemas and no rebuild makes it anew. Bodies
-- are bytes: a server may say what no text of Postgres holds.
CREATE TABLE hansard.provider_log (
    started_at timestamptz NOT NULL,
    kept_until timestamptz NOT NULL,
    first_piece_ms bigint,
    took_ms bigint NOT NULL,
    request_bytes bigint NOT NULL,
    reply_bytes bigint NOT NULL,
    input_tokens bigint, -- with the three below it, or none
    output_tokens bigint,
    cached_tokens bigint,
    reasoning_tokens bigint,
    attempt bigint NOT NULL,
    log_id uuid NOT NULL,
    run_id uuid NOT NULL,
    http_status integer,
    purpose smallint NOT NULL,
    request_is_cut boolean,
    reply_is_cut boolean,
    tenant_id text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    agent_id text COLLATE "C" NOT NULL,
    model_server text COLLATE "C" NOT NULL,
    model text COLLATE "C" NOT NULL,
    outcome text COLLATE "C" NOT NULL,
    finish_reason text COLLATE "C",
    request bytea,
    reply bytea,
    PRIMARY KEY (tenant_id, log_id)
);

CREATE INDEX provider_log_by_tenant ON hansard.provider_log (tenant_id, started_at, log_id);
CREATE INDEX provider_log_by_agent ON hansard.provider_log (tenant_id, agent_id, started_at, log_id);
CREATE INDEX provider_log_by_conversation ON hansard.provider_log (tenant_id, conversation_id, started_at, log_id);
CREATE INDEX provider_log_by_end ON hansard.provider_log (kept_until);

ALTER TABLE hansard.provider_log ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON hansard.provider_log FOR SELECT TO hansard_reader
    USING (tenant_id = current_setting('hansard.tenant', true));
GRANT SELECT ON hansard.provider_log TO hansard_reader;

-- How far the stream is projected, and who does it until when: one row.
CREATE TABLE hansard.provider_log_checkpoint (
    sequence bigint NOT NULL,
    held_until timestamptz NOT NULL,
    holder text COLLATE "C" NOT NULL,
    is_only boolean PRIMARY KEY CHECK (is_only)
);

INSERT INTO hansard.provider_log_checkpoint (sequence, held_until, holder, is_only)
VALUES (0, '-infinity', '', true);
