-- The runs under way, of all tenants: what a gateway ends when nobody generates them any more. Its login is a reader, which sees
-- one tenant's rows, so this function is all that it may ask across tenants.
CREATE FUNCTION hansard.active_runs(after_tenant text, after_conversation text, page bigint)
RETURNS TABLE (tenant_id text, conversation_id text, head bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE live text;
BEGIN
    SELECT projection.live_schema INTO STRICT live
    FROM hansard.projection AS projection WHERE projection.name = 'conversations';
    RETURN QUERY EXECUTE format(
        'SELECT tenant_id, conversation_id, head FROM %I.conversation
         WHERE active_run_id IS NOT NULL AND (tenant_id, conversation_id) > ($1, $2)
         ORDER BY tenant_id, conversation_id LIMIT $3', live)
    USING after_tenant, after_conversation, page;
END
$$;
REVOKE ALL ON FUNCTION hansard.active_runs(text, text, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hansard.active_runs(text, text, bigint) TO hansard_reader;
