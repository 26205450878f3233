-- Which schema of each projection readers use.
CREATE TABLE hansard.projection (
    name text COLLATE "C" PRIMARY KEY,
    live_schema text COLLATE "C" NOT NULL
);

INSERT INTO hansard.projection (name, live_schema) VALUES ('conversations', 'conversations_v1');

CREATE SCHEMA conversations_v1;

-- In each table the columns of fixed width stand first: no byte is lost to alignment.

-- A conversation's present state. `head` is an encoded hansard.event.v1.Head, `client_context` a ClientContext; what is
-- beside them is for finding and for people. Times are rounded down to microseconds; `created_nanos` is what is left.
CREATE TABLE conversations_v1.conversation (
    version bigint NOT NULL,
    sequence bigint NOT NULL,
    created_at timestamptz NOT NULL,
    last_event_at timestamptz NOT NULL,
    partition integer NOT NULL,
    created_nanos smallint NOT NULL,
    status smallint NOT NULL, -- 1 active, 2 archived, 3 erased
    tenant_id text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    agent_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C",
    session_id text COLLATE "C",
    head bytea NOT NULL,
    title text,
    metadata_json text,
    client_context bytea,
    PRIMARY KEY (tenant_id, conversation_id)
)
-- Every event changes its conversation's row: it is vacuumed by how much changed, not only by how much there is.
WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

-- The listings, each read backwards from a key. A narrow listing table of its own was measured beside them, with 250
-- conversations a batch: 4 to 11% more of the processor and 13% less log for the whole batch, and a join in every listing.
CREATE INDEX conversation_by_session ON conversations_v1.conversation
    (tenant_id, agent_id, session_id, status, last_event_at, conversation_id)
    WHERE session_id IS NOT NULL;
CREATE INDEX conversation_by_user ON conversations_v1.conversation
    (tenant_id, agent_id, user_id, status, last_event_at, conversation_id)
    WHERE user_id IS NOT NULL;
-- Every row is in the next two. Their conditions are repeated by their own statements alone, so that no plan walks a whole
-- agent or tenant for the few conversations of one session or user, whatever the statistics say.
CREATE INDEX conversation_by_agent ON conversations_v1.conversation
    (tenant_id, agent_id, status, last_event_at, conversation_id)
    WHERE partition > -1;
CREATE INDEX conversation_by_tenant ON conversations_v1.conversation
    (tenant_id, status, last_event_at, conversation_id)
    WHERE partition >= 0;

-- An event. `body` is the encoded hansard.event.v1.Event, verbatim. A commit's first event (`commit_index` 0) also has
-- what answers a retry: `sequence`, `event_count`, `request_digest`.
CREATE TABLE conversations_v1.event (
    version bigint NOT NULL,
    recorded_at timestamptz NOT NULL,
    occurred_at timestamptz,
    input_tokens bigint,
    output_tokens bigint,
    cached_tokens bigint,
    sequence bigint,
    commit_id uuid NOT NULL,
    recorded_nanos smallint NOT NULL,
    commit_index smallint NOT NULL,
    event_count smallint,
    kind smallint NOT NULL,
    role smallint,
    tenant_id text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    tool_name text COLLATE "C",
    call_id text COLLATE "C",
    model text COLLATE "C",
    request_digest bytea,
    body bytea NOT NULL,
    PRIMARY KEY (tenant_id, conversation_id, version)
)
-- Insert-only: vacuumed often enough that most pages are known to be visible to all.
WITH (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

-- Faster than the default, and not in every build of Postgres.
DO $$
BEGIN
    ALTER TABLE conversations_v1.event ALTER COLUMN body SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
    NULL;
END
$$;

-- Durable idempotency. Measured beside a table of commits: it adds half of the log and 55 to 70% of the processor time.
CREATE UNIQUE INDEX event_by_commit ON conversations_v1.event
    (tenant_id, conversation_id, commit_id)
    WHERE commit_index = 0;
-- Kinds that are few among messages (kind 1), which are found by walking.
CREATE INDEX event_by_kind ON conversations_v1.event
    (tenant_id, conversation_id, kind, version)
    WHERE kind <> 1;

-- How far each partition is projected, and by whom: `epoch` grows with every holder, and a write under an older one is
-- refused.
CREATE TABLE conversations_v1.checkpoint (
    sequence bigint NOT NULL,
    epoch bigint NOT NULL,
    lease_until timestamptz,
    updated_at timestamptz NOT NULL,
    partition integer PRIMARY KEY,
    holder text COLLATE "C"
)
WITH (fillfactor = 20);

-- The projectors that are alive, so that they can share the partitions.
CREATE TABLE conversations_v1.projector (
    alive_until timestamptz NOT NULL,
    holder text COLLATE "C" PRIMARY KEY
);

-- Conversations that cannot be projected, and the commits that wait in each, the one that failed first.
CREATE TABLE conversations_v1.parked_conversation (
    sequence bigint NOT NULL,
    parked_at timestamptz NOT NULL,
    partition integer NOT NULL,
    attempts integer NOT NULL,
    gaps_accepted boolean NOT NULL,
    tenant_id text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    reason text NOT NULL,
    PRIMARY KEY (tenant_id, conversation_id)
);
CREATE INDEX parked_conversation_by_partition ON conversations_v1.parked_conversation
    (partition, tenant_id, conversation_id);

CREATE TABLE conversations_v1.parked_commit (
    sequence bigint NOT NULL,
    tenant_id text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, conversation_id, sequence)
);
