UPDATE parked_conversation
SET gaps_accepted = true
WHERE tenant_id = $1 AND conversation_id = $2
