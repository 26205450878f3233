SELECT {columns}
FROM conversation
WHERE (tenant_id, conversation_id) > ($1, $2) AND (tenant_id, conversation_id) <= ($3, $4)
ORDER BY tenant_id, conversation_id
LIMIT $5
