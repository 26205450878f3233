SELECT gaps_accepted
FROM parked_conversation
WHERE tenant_id = $1 AND conversation_id = $2
