SELECT tenant_id, conversation_id, head
FROM conversation
WHERE active_run_id IS NOT NULL AND (tenant_id, conversation_id) > ($1, $2)
ORDER BY tenant_id, conversation_id
LIMIT $3
