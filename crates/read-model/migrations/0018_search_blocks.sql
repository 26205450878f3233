-- The search finds documents by blocks: some documents of a tenant, with a Bloom filter of their terms, see
-- docs/explanation/search.md. Everything is indexed again from the record.
DROP VIEW search_v1.own_document;
DROP TABLE search_v1.document;

CREATE SEQUENCE search_v1.block_id AS bigint;

-- A block takes further documents of its partition while it is open; a block of documents that were indexed again has no partition.
-- While it has no filter, it may have any document.
CREATE TABLE search_v1.block (
    block_id bigint NOT NULL PRIMARY KEY,
    first_at timestamptz NOT NULL,
    last_at timestamptz NOT NULL,
    partition integer,
    term_count integer NOT NULL,
    is_open boolean NOT NULL,
    tenant_id text COLLATE "C" NOT NULL,
    filter bytea
)
WITH (fillfactor = 90);

-- Its bits are random, and a search reads them of every block of a tenant.
ALTER TABLE search_v1.block ALTER COLUMN filter SET STORAGE PLAIN;
ALTER TABLE search_v1.block ALTER COLUMN filter SET STATISTICS 0;

CREATE INDEX block_by_time ON search_v1.block (tenant_id, last_at, block_id);
CREATE INDEX open_block ON search_v1.block (tenant_id, partition) WHERE is_open;
CREATE INDEX block_without_filter ON search_v1.block (block_id) WHERE NOT is_open AND filter IS NULL;

ALTER TABLE search_v1.block ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON search_v1.block FOR SELECT TO hansard_reader
    USING (tenant_id = current_setting('hansard.tenant', true));
GRANT SELECT ON search_v1.block TO hansard_reader;

-- A searchable event, or the title of a conversation (version 0).
CREATE TABLE search_v1.document (
    block_id bigint NOT NULL,
    version bigint NOT NULL,
    recorded_at timestamptz NOT NULL,
    tenant_id text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    terms integer[] NOT NULL,
    -- The conversation is first: no plan reads all documents of a tenant by this index.
    PRIMARY KEY (conversation_id, tenant_id, version)
)
-- Insert-only: vacuumed often enough that most pages are known to be visible to all.
WITH (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

-- Hashes cannot be compressed, and statistics of them help no plan.
ALTER TABLE search_v1.document ALTER COLUMN terms SET STORAGE EXTERNAL;
ALTER TABLE search_v1.document ALTER COLUMN terms SET STATISTICS 0;

CREATE INDEX document_by_block ON search_v1.document (block_id);

ALTER TABLE search_v1.document ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON search_v1.document FOR SELECT TO hansard_reader
    USING (tenant_id = current_setting('hansard.tenant', true));
GRANT SELECT ON search_v1.document TO hansard_reader;

-- A filter includes the terms of the documents of its block, and no others: a changed or deleted document removes it in the same
-- transaction. Projectors make it again.
CREATE FUNCTION search_v1.remove_filters() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    UPDATE search_v1.block
    SET filter = NULL, first_at = '-infinity', last_at = 'infinity'
    -- Every statement locks blocks in this order, which prevents deadlocks.
    FROM (SELECT DISTINCT block_id FROM changed ORDER BY block_id) AS changed
    WHERE block.block_id = changed.block_id;
    RETURN NULL;
END
$$;
CREATE TRIGGER document_changed AFTER UPDATE ON search_v1.document
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION search_v1.remove_filters();
CREATE TRIGGER document_deleted AFTER DELETE ON search_v1.document
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION search_v1.remove_filters();

UPDATE search_v1.checkpoint SET sequence = 0, indexed_at = '-infinity';
-- Audit logs have a page of their own, and no documents.
DELETE FROM search_v1.agent WHERE agent_id = 'hansard-audit-log';
