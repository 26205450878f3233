DELETE FROM parked_conversation
WHERE tenant_id = $1 AND conversation_id = $2
  AND NOT EXISTS (SELECT FROM parked_commit WHERE tenant_id = $1 AND conversation_id = $2)
