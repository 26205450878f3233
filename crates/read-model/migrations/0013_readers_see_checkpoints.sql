-- How far the rows are, for readers: gateways wait for the rows of a write before they list, erase or retain. A checkpoint says
-- nothing of any tenant. Every schema's, so that those made from it have the grant, too.
DO $$
DECLARE place record;
BEGIN
    FOR place IN
        SELECT namespace.nspname
        FROM pg_class AS class
        JOIN pg_namespace AS namespace ON namespace.oid = class.relnamespace
        JOIN hansard.schema AS schema ON schema.name = namespace.nspname
        WHERE class.relkind = 'r' AND class.relname = 'checkpoint'
    LOOP
        EXECUTE format('GRANT SELECT ON %I.checkpoint TO hansard_reader', place.nspname);
    END LOOP;
END
$$;
