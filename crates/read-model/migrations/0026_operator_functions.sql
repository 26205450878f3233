-- Additive: the logins that were readers keep what they may call, as grants of their own.
-- A plain reader sees the rows of one tenant. The functions that read across tenants, and the two that write, are for gateways: logins that
-- are readers without being owners, except the writers' login of deploy/postgres/roles.sql. Owners need no grant, and no login is
-- granted to them. A login that is made later gets its grants from roles.sql.
DO $$
DECLARE
    functions CONSTANT text :=
        'hansard.active_runs(text, text, bigint), hansard.live_projectors(), hansard.partitions_overview(),
         hansard.parked_conversations(text, bigint), hansard.request_parked(text, text, bigint),
         hansard.set_search_agents(text[], text[], boolean[], text[])';
    login record;
BEGIN
    EXECUTE 'REVOKE EXECUTE ON FUNCTION ' || functions || ' FROM hansard_reader';
    FOR login IN
        SELECT role.rolname
        FROM pg_roles AS role
        WHERE role.rolcanlogin AND NOT role.rolsuper AND role.rolname <> 'hansard_writer'
              AND pg_has_role(role.oid, 'hansard_reader', 'MEMBER') AND NOT pg_has_role(role.oid, current_user, 'MEMBER')
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', functions, login.rolname);
    END LOOP;
END
$$;
