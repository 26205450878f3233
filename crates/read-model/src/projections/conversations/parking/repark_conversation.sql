UPDATE parked_conversation
SET sequence = $3, reason = $4, attempts = attempts + 1
WHERE tenant_id = $1 AND conversation_id = $2
