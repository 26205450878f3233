SELECT conversation_id, head
FROM conversation
WHERE tenant_id = $1 AND agent_id = $2
  -- The conditions of the index.
  AND version = 1 AND session_id IS NOT NULL AND forked_from IS NULL AND status = 1
  AND conversation_id > $3
ORDER BY conversation_id
LIMIT $4
