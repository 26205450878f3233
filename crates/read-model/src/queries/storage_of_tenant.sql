SELECT coalesce(sum(conversations), 0)::bigint AS conversations, coalesce(sum(stored_bytes), 0)::bigint AS bytes
FROM storage
WHERE tenant_id = $1
