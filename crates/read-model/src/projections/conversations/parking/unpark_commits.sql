DELETE FROM parked_commit
WHERE tenant_id = $1 AND conversation_id = $2 AND sequence = ANY ($3::bigint[])
