SELECT conversation_id
FROM conversation
WHERE tenant_id = $1 AND agent_id = $2 AND user_id = $3
  -- The conditions of the index.
  AND user_id IS NOT NULL AND conversation_id >= 'named:' AND conversation_id < 'named;'
  -- A tag of hexadecimal digits follows the start. Names that contain colons begin alike.
  AND conversation_id >= $4 AND conversation_id < $4 || 'g' AND length(conversation_id) = length($4) + $5
ORDER BY conversation_id
LIMIT $6
