-- The changes of conversations by each chunk of the record, until rows are computed from them. Only the first change of a
-- conversation and a tombstone have `created_at`.
CREATE TABLE conversation_change (
    first_version bigint NOT NULL,
    version bigint NOT NULL,
    sequence bigint NOT NULL,
    stored_bytes bigint NOT NULL,
    created_at timestamptz,
    last_event_at timestamptz NOT NULL,
    active_run_id uuid,
    partition integer NOT NULL,
    created_nanos smallint,
    status smallint NOT NULL,
    changes_title boolean NOT NULL,
    changes_metadata boolean NOT NULL,
    tenant_id text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    agent_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C",
    session_id text COLLATE "C",
    channel_id text COLLATE "C",
    forked_from text COLLATE "C",
    head bytea NOT NULL,
    client_context bytea,
    title text,
    metadata_json text
);
-- As in the tables of the live schema: statistics of the planner outlive an erasure.
ALTER TABLE conversation_change
    ALTER COLUMN user_id SET STATISTICS 0,
    ALTER COLUMN session_id SET STATISTICS 0,
    ALTER COLUMN channel_id SET STATISTICS 0,
    ALTER COLUMN head SET STATISTICS 0,
    ALTER COLUMN client_context SET STATISTICS 0,
    ALTER COLUMN title SET STATISTICS 0,
    ALTER COLUMN metadata_json SET STATISTICS 0
