SELECT {columns}
FROM event
WHERE tenant_id = $1 AND conversation_id = $2 AND version BETWEEN $3 AND $4
ORDER BY version
