-- What an administrator of Postgres runs once, where the roles' login may not do it by itself: on managed servers. Run it
-- with psql, connected to the database, as \i roles.sql; a second run changes nothing.
--
-- `hansard` is the login of writers, projectors and gateways, with the database's schemas. `hansard_reader` is what each
-- connection that reads for a tenant turns into: it may only read, and only that tenant's rows.

SELECT 'CREATE ROLE hansard LOGIN' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'hansard') \gexec
SELECT 'CREATE ROLE hansard_reader NOLOGIN' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'hansard_reader') \gexec
GRANT hansard_reader TO hansard;
SELECT format('GRANT CONNECT, CREATE ON DATABASE %I TO hansard', current_database()) \gexec
