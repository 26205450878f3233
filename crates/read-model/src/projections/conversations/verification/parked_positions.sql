SELECT tenant_id, conversation_id, partition, sequence
FROM parked_conversation
ORDER BY tenant_id, conversation_id
LIMIT $1
