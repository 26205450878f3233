-- What models read and wrote, by UTC day: a row for a tenant, and one for each of its agents, API keys and owners. Made from the
-- stream of calls, which is no part of the record, so it stands beside the projections' schemas and no rebuild makes it anew.
CREATE TABLE hansard.model_usage (
    calls bigint NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    day date NOT NULL,
    scope smallint NOT NULL, -- 1 tenant, 2 agent, 3 API key, 4 owner
    tenant_id text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL, -- '' for the tenant; the id of an agent or a key; an owner's digest
    PRIMARY KEY (tenant_id, scope, day, name)
)
-- Today's rows are changed by every batch, in place.
WITH (fillfactor = 50);

CREATE INDEX model_usage_by_day ON hansard.model_usage (scope, day);
ALTER TABLE hansard.model_usage ALTER COLUMN name SET STATISTICS 0;

ALTER TABLE hansard.model_usage ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON hansard.model_usage FOR SELECT TO hansard_reader
    USING (tenant_id = current_setting('hansard.tenant', true));
GRANT SELECT ON hansard.model_usage TO hansard_reader;
