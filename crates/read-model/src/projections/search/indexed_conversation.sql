SELECT conversation.agent_id
FROM conversation
JOIN search_v1.checkpoint USING (partition)
WHERE conversation.tenant_id = $1 AND conversation.conversation_id = $2
  AND conversation.status <> 3
  AND conversation.sequence <= checkpoint.sequence
  AND NOT EXISTS (
      SELECT FROM search_v1.agent
      WHERE agent.tenant_id = $1 AND agent.agent_id = conversation.agent_id
        AND indexed_generation < generation
  )
