-- Additive: programs without it refuse a configuration with shards, and without shards the table is empty.
-- The tenants whose rows are not in the first database. The first database lists those of all shards; a shard lists its own.
CREATE TABLE hansard.shard_tenant (
    tenant_id text COLLATE "C" PRIMARY KEY,
    shard text COLLATE "C" NOT NULL,
    is_here boolean NOT NULL -- whether this database is that shard
);
ALTER TABLE hansard.shard_tenant ENABLE ROW LEVEL SECURITY;

-- For readers, who see one tenant's rows otherwise: they check that their configuration agrees.
CREATE FUNCTION hansard.shard_tenants() RETURNS TABLE (tenant_id text, shard text, is_here boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT tenant_id, shard, is_here FROM hansard.shard_tenant
$$;
REVOKE ALL ON FUNCTION hansard.shard_tenants() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hansard.shard_tenants() TO hansard_reader;
