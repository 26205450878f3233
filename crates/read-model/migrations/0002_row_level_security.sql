-- Behind the tenant that every query names: the role of readers sees the rows of one tenant, the one that its connection
-- is set to, and none before it is. The role itself is made beside the migrations, since it is the whole cluster's.
--
-- A table that has a tenant_id gets its policy and its grant in the migration that makes it; a table without one is not
-- for readers. The owner, as which projectors write, is not bound by policies.

GRANT USAGE ON SCHEMA hansard, conversations_v1 TO hansard_reader;
GRANT SELECT ON hansard.migration, hansard.projection TO hansard_reader;

ALTER TABLE conversations_v1.conversation ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON conversations_v1.conversation FOR SELECT TO hansard_reader
    USING (tenant_id = current_setting('hansard.tenant', true));
GRANT SELECT ON conversations_v1.conversation TO hansard_reader;

ALTER TABLE conversations_v1.event ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON conversations_v1.event FOR SELECT TO hansard_reader
    USING (tenant_id = current_setting('hansard.tenant', true));
GRANT SELECT ON conversations_v1.event TO hansard_reader;

ALTER TABLE conversations_v1.parked_conversation ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON conversations_v1.parked_conversation FOR SELECT TO hansard_reader
    USING (tenant_id = current_setting('hansard.tenant', true));
GRANT SELECT ON conversations_v1.parked_conversation TO hansard_reader;

ALTER TABLE conversations_v1.parked_commit ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON conversations_v1.parked_commit FOR SELECT TO hansard_reader
    USING (tenant_id = current_setting('hansard.tenant', true));
GRANT SELECT ON conversations_v1.parked_commit TO hansard_reader;
