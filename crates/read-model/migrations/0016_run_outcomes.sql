-- Ends of runs, by the UTC day on which they were recorded. An erasure keeps them, as those of usage. Runs that ended before this
-- migration are counted by the next rebuild: outcomes are only in the bodies of events.
DO $$
DECLARE place record;
BEGIN
    FOR place IN
        SELECT schema.name AS nspname FROM hansard.schema AS schema WHERE schema.projection = 'conversations'
    LOOP
        EXECUTE format(
            'CREATE TABLE %1$I.run_day (
                 runs bigint NOT NULL,
                 day date NOT NULL,
                 outcome smallint NOT NULL, -- 1 completed, 2 stopped, 3 failed, 4 abandoned
                 tenant_id text COLLATE "C" NOT NULL,
                 agent_id text COLLATE "C" NOT NULL,
                 PRIMARY KEY (tenant_id, day, agent_id, outcome)
             )
             -- Rows of the current day are changed by many batches, in place.
             WITH (fillfactor = 50);
             ALTER TABLE %1$I.run_day ENABLE ROW LEVEL SECURITY;
             CREATE POLICY tenant ON %1$I.run_day FOR SELECT TO hansard_reader
                 USING (tenant_id = current_setting(''hansard.tenant'', true));
             GRANT SELECT ON %1$I.run_day TO hansard_reader',
            place.nspname
        );
    END LOOP;
END
$$;
