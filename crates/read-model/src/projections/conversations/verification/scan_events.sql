SELECT {columns}
FROM event
WHERE (tenant_id, conversation_id, version) > ($1, $2, $5) AND (tenant_id, conversation_id) <= ($3, $4)
ORDER BY tenant_id, conversation_id, version
LIMIT $6
