-- The search: a projection with checkpoints, leases and a schema of its own. It contains no text: terms are keyed hashes, see
-- docs/explanation/search.md. Texts are read from the rows of events.
CREATE SCHEMA search_v1;
GRANT USAGE ON SCHEMA search_v1 TO hansard_reader;

-- A searchable event, or the title of a conversation (version 0).
CREATE TABLE search_v1.document (
    version bigint NOT NULL,
    recorded_at timestamptz NOT NULL,
    tenant_id text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    terms bigint[] NOT NULL,
    -- The conversation is first: no plan reads all documents of a tenant by this index.
    PRIMARY KEY (conversation_id, tenant_id, version)
)
-- Insert-only: vacuumed often enough that most pages are known to be visible to all.
WITH (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

-- Hashes cannot be compressed, and statistics of them help no plan.
ALTER TABLE search_v1.document ALTER COLUMN terms SET STORAGE EXTERNAL;
ALTER TABLE search_v1.document ALTER COLUMN terms SET STATISTICS 0;

-- A pending list would delay a search, and now and then an insert.
CREATE INDEX document_by_term ON search_v1.document USING gin (terms) WITH (fastupdate = off);
-- The condition is repeated only by the statement that reads the newest documents: no other plan walks a whole tenant.
CREATE INDEX document_by_time ON search_v1.document (tenant_id, recorded_at, conversation_id, version)
    WHERE version >= 0;

ALTER TABLE search_v1.document ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON search_v1.document FOR SELECT TO hansard_reader
    USING (tenant_id = current_setting('hansard.tenant', true));
GRANT SELECT ON search_v1.document TO hansard_reader;

-- The documents of the reader's tenant. A policy would be checked before the terms, which are compared by operators that are not
-- leakproof, so no statement of a reader could use the index of terms. The condition is not one of an index: no plan reads all
-- documents of a tenant by it.
CREATE VIEW search_v1.own_document AS
    SELECT version, recorded_at, tenant_id, conversation_id, terms
    FROM search_v1.document
    WHERE (tenant_id = current_setting('hansard.tenant', true)) IS TRUE;
GRANT SELECT ON search_v1.own_document TO hansard_reader;

-- The key of a tenant's terms.
CREATE TABLE search_v1.tenant (
    tenant_id text COLLATE "C" PRIMARY KEY,
    term_key bytea NOT NULL
);

ALTER TABLE search_v1.tenant ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON search_v1.tenant FOR SELECT TO hansard_reader
    USING (tenant_id = current_setting('hansard.tenant', true));
GRANT SELECT ON search_v1.tenant TO hansard_reader;

-- How the documents of an agent are made, and how far they are indexed again after a change: up to an event of a conversation, while
-- `indexed_generation` is less than `generation`.
CREATE TABLE search_v1.agent (
    generation bigint NOT NULL,
    indexed_generation bigint NOT NULL,
    indexed_version bigint NOT NULL,
    is_enabled boolean NOT NULL,
    tenant_id text COLLATE "C" NOT NULL,
    agent_id text COLLATE "C" NOT NULL,
    language text COLLATE "C" NOT NULL, -- '': no stems
    indexed_conversation text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, agent_id)
);

CREATE INDEX agent_in_progress ON search_v1.agent (tenant_id, agent_id) WHERE indexed_generation < generation;

ALTER TABLE search_v1.agent ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON search_v1.agent FOR SELECT TO hansard_reader
    USING (tenant_id = current_setting('hansard.tenant', true));
GRANT SELECT ON search_v1.agent TO hansard_reader;

-- As those of conversations. `indexed_at`: when the last commit up to the checkpoint was recorded.
CREATE TABLE search_v1.checkpoint (
    sequence bigint NOT NULL,
    epoch bigint NOT NULL,
    lease_until timestamptz,
    updated_at timestamptz NOT NULL,
    indexed_at timestamptz NOT NULL DEFAULT '-infinity',
    partition integer PRIMARY KEY,
    holder text COLLATE "C"
)
WITH (fillfactor = 20);
GRANT SELECT ON search_v1.checkpoint TO hansard_reader;

CREATE TABLE search_v1.projector (
    alive_until timestamptz NOT NULL,
    holder text COLLATE "C" PRIMARY KEY
);

-- The settings of agents, as the registry has them. Gateways know the registry, and their login is a reader, so this function is
-- all that they may write. An agent with other settings than before is made again.
CREATE FUNCTION hansard.set_search_agents(tenants text[], agents text[], enabled boolean[], languages text[])
RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO search_v1.agent AS held (
        generation, indexed_generation, indexed_version, is_enabled, tenant_id, agent_id, language, indexed_conversation
    )
    SELECT 1, CASE WHEN given.is_enabled AND given.language = '' THEN 1 ELSE 0 END, 0,
           given.is_enabled, given.tenant_id, given.agent_id, given.language, ''
    FROM unnest(tenants, agents, enabled, languages) AS given (tenant_id, agent_id, is_enabled, language)
    -- Every statement locks agents in this order, which prevents deadlocks.
    ORDER BY given.tenant_id COLLATE "C", given.agent_id COLLATE "C"
    ON CONFLICT (tenant_id, agent_id) DO UPDATE
    SET is_enabled = excluded.is_enabled, language = excluded.language,
        generation = held.generation + 1, indexed_conversation = '', indexed_version = 0
    WHERE (held.is_enabled, held.language) IS DISTINCT FROM (excluded.is_enabled, excluded.language)
$$;
REVOKE ALL ON FUNCTION hansard.set_search_agents(text[], text[], boolean[], text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hansard.set_search_agents(text[], text[], boolean[], text[]) TO hansard_reader;
