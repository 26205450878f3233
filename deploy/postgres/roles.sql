-- The logins of a system, and what they may. An administrator of Postgres runs it once, with psql, connected to the database, as
-- \i roles.sql, and then gives each login a password; a second run changes nothing.
--
-- hansard_owner     owns the schemas; nobody logs in as it.
-- hansard_migrator  `hansard migrate`: acts as the owner.
-- hansard_projector projectors: act as the owner, since they make, fill and drop schemas when rows are rebuilt.
-- hansard_operator  operators' commands: act as the owner.
-- hansard_reader    each connection that reads for a tenant: reads only that tenant's rows.
-- hansard_writer    writers, which look up old idempotency keys, stored bytes and forks: readers and nothing else.
-- hansard_gateway   gateways: readers, which also call the functions that read across tenants or leave requests for projectors.
--
-- A database that an earlier version used under one login, `hansard`, is handed over by: REASSIGN OWNED BY hansard TO hansard_owner;

SELECT format('CREATE ROLE %I NOLOGIN', name)
FROM unnest(ARRAY['hansard_owner', 'hansard_reader']) AS name
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec
SELECT format('CREATE ROLE %I LOGIN', name)
FROM unnest(ARRAY['hansard_migrator', 'hansard_projector', 'hansard_operator', 'hansard_writer', 'hansard_gateway']) AS name
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec

GRANT hansard_reader TO hansard_owner, hansard_writer, hansard_gateway;
GRANT hansard_owner TO hansard_migrator, hansard_projector, hansard_operator;
ALTER ROLE hansard_migrator SET role = hansard_owner;
ALTER ROLE hansard_projector SET role = hansard_owner;
ALTER ROLE hansard_operator SET role = hansard_owner;

SELECT format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database()) \gexec
SELECT format('GRANT CREATE ON DATABASE %I TO hansard_owner', current_database()) \gexec
SELECT format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), name)
FROM unnest(ARRAY['hansard_migrator', 'hansard_projector', 'hansard_operator', 'hansard_writer', 'hansard_gateway']) AS name \gexec

-- `hansard migrate` grants these functions to the logins that exist. This is for a database that was migrated before it had them.
SELECT format('GRANT EXECUTE ON FUNCTION %s TO hansard_gateway', name::regprocedure)
FROM unnest(ARRAY[
    'hansard.active_runs(text, text, bigint)', 'hansard.live_projectors()', 'hansard.partitions_overview()',
    'hansard.parked_conversations(text, bigint)', 'hansard.request_parked(text, text, bigint)',
    'hansard.set_search_agents(text[], text[], boolean[], text[])'
]) AS name
WHERE to_regprocedure(name) IS NOT NULL \gexec
