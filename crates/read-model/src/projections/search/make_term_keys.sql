INSERT INTO search_v1.tenant (tenant_id, term_key)
SELECT tenant_id, uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
FROM unnest($1::text[]) AS given (tenant_id)
-- Every statement inserts in this order, which prevents deadlocks.
ORDER BY tenant_id COLLATE "C"
ON CONFLICT (tenant_id) DO NOTHING
