SELECT sequence
FROM parked_commit
WHERE tenant_id = $1 AND conversation_id = $2
ORDER BY sequence
LIMIT $3
