-- Divides the events of the empty schema conversations_v1, as a rebuild of an earlier version did.
ALTER TABLE conversations_v1.event RENAME TO undivided;
CREATE TABLE conversations_v1.event (LIKE conversations_v1.undivided INCLUDING ALL EXCLUDING INDEXES)
PARTITION BY HASH (conversation_id);
DROP TABLE conversations_v1.undivided;
CREATE TABLE conversations_v1.event_p00 PARTITION OF conversations_v1.event FOR VALUES WITH (MODULUS 2, REMAINDER 0)
WITH (
    autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05,
    autovacuum_freeze_min_age = 0, autovacuum_vacuum_insert_threshold = 100000
);
CREATE TABLE conversations_v1.event_p01 PARTITION OF conversations_v1.event FOR VALUES WITH (MODULUS 2, REMAINDER 1)
WITH (
    autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05,
    autovacuum_freeze_min_age = 0, autovacuum_vacuum_insert_threshold = 100000
);
ALTER TABLE conversations_v1.event ALTER COLUMN tool_name SET STATISTICS 0;
ALTER TABLE conversations_v1.event ALTER COLUMN call_id SET STATISTICS 0;
ALTER TABLE conversations_v1.event ALTER COLUMN request_digest SET STATISTICS 0;
ALTER TABLE conversations_v1.event ALTER COLUMN body SET STATISTICS 0;
ALTER TABLE conversations_v1.event ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON conversations_v1.event TO hansard_reader;
CREATE POLICY tenant ON conversations_v1.event FOR SELECT TO hansard_reader
    USING (tenant_id = current_setting('hansard.tenant', true));
-- A rebuild created the indexes of each table first, and these from them.
ALTER TABLE conversations_v1.event_p00 ADD CONSTRAINT event_pkey_p00 PRIMARY KEY (tenant_id, conversation_id, version);
ALTER TABLE conversations_v1.event_p01 ADD CONSTRAINT event_pkey_p01 PRIMARY KEY (tenant_id, conversation_id, version);
ALTER TABLE conversations_v1.event ADD CONSTRAINT event_pkey PRIMARY KEY (tenant_id, conversation_id, version);
CREATE UNIQUE INDEX event_by_commit ON conversations_v1.event (tenant_id, conversation_id, commit_id)
    WHERE commit_index = 0;
CREATE INDEX event_by_kind ON conversations_v1.event (tenant_id, conversation_id, kind, version)
    WHERE kind <> 1;
