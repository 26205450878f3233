SELECT count(*), coalesce(sum(octet_length(body)), 0)::bigint
FROM event
WHERE tenant_id = $1 AND conversation_id = $2
