SELECT version
FROM event
WHERE tenant_id = $1 AND conversation_id = $2 AND (version < $3 OR version > $4) AND version <= $5
ORDER BY version
LIMIT $6
