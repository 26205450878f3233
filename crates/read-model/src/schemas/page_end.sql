SELECT tenant_id, conversation_id
FROM conversation
WHERE (tenant_id, conversation_id) > ($1, $2)
ORDER BY tenant_id, conversation_id
OFFSET $3 LIMIT 1
