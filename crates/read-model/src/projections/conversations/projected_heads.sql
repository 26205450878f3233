SELECT tenant_id, conversation_id, partition, sequence, head
FROM conversation
WHERE (tenant_id, conversation_id) > ($1, $2)
ORDER BY tenant_id, conversation_id
LIMIT $3
