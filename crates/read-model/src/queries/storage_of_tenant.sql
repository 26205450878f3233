SELECT coalesce(sum(conversations), 0)::bigint, coalesce(sum(stored_bytes), 0)::bigint
FROM storage
WHERE tenant_id = $1
